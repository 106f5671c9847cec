"""Saved replies as stored, in the console's own table."""

from pynamodb.attributes import UnicodeAttribute

from console.store.models import StoreModel, TableMeta


class SavedReply(StoreModel):
    """`pk` says whose it is (`service.Owner`), `sk` is its id, 32 hex digits; `updated_at` is ISO 8601 text in UTC."""

    class Meta(TableMeta):
        table_key = "CONSOLE"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    name = UnicodeAttribute(default="")
    text = UnicodeAttribute(default="")
    updated_by = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute(null=True)
