"""The model of saved replies in the console's own table."""

from pynamodb.attributes import UnicodeAttribute

from console.store.models import StoreModel, TableMeta


class SavedReply(StoreModel):
    """A saved reply. `pk` is of its `service.Owner`, `sk` its id, 32 hex digits; `updated_at` is ISO 8601 in UTC."""

    class Meta(TableMeta):
        table_key = "CONSOLE"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    name = UnicodeAttribute(default="")
    text = UnicodeAttribute(default="")
    updated_by = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute(null=True)
