"""Items of the tenants' conversations. The tenant platform writes them whole, with each turn."""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console.store.models import ForeignModel, TableMeta


class TenantConversation(ForeignModel):
    """A conversation of a tenant (schema tenants): `messages` is JSON text, `ttl` epoch seconds."""

    class Meta(TableMeta):
        table_key = "TENANT_CONVERSATIONS"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    messages = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute(null=True)
    ttl = NumberAttribute(null=True)
