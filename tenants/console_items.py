"""What the console keeps of tenants in its own table: settings it saved last, and what onboarding typed."""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console.store.models import StoreModel, TableMeta


class SavedSettings(StoreModel):
    """`pk = TENANT#{tenant_id}`, `sk = SETTINGS`: name and settings as the console saved them last, and who and when.

    The platform writes META whole; by this item the console can tell what it overwrote.
    """

    class Meta(TableMeta):
        table_key = "CONSOLE"

    SORT_KEY = "SETTINGS"
    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True, default=SORT_KEY)
    name = UnicodeAttribute(null=True)
    settings = UnicodeAttribute(null=True)
    saved_at = UnicodeAttribute(null=True)
    saved_by = UnicodeAttribute(null=True)


class OnboardingDraft(StoreModel):
    """`pk = TENANT#{tenant_id}`, `sk = ONBOARDING`: what was typed for a tenant that is not complete, as JSON text.

    `token` is of the form that began it, so that a form sent twice finds its own tenant. Kept for 90 days.
    """

    class Meta(TableMeta):
        table_key = "CONSOLE"

    SORT_KEY = "ONBOARDING"
    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True, default=SORT_KEY)
    typed = UnicodeAttribute(default="{}")
    version = NumberAttribute(default=1)
    token = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
