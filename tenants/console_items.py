"""Items about tenants in the console's own table: the settings it last saved, and drafts of onboarding."""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console.store.models import ConsoleItem


class SavedSettings(ConsoleItem):
    """`pk = TENANT#{tenant_id}`, `sk = SETTINGS`: name and settings as the console last saved them, by whom and when.

    The platform overwrites META as a whole; this item shows what it changed.
    """

    SORT_KEY = "SETTINGS"
    sk = UnicodeAttribute(range_key=True, default=SORT_KEY)
    name = UnicodeAttribute(null=True)
    settings = UnicodeAttribute(null=True)
    saved_at = UnicodeAttribute(null=True)
    saved_by = UnicodeAttribute(null=True)


class OnboardingDraft(ConsoleItem):
    """`pk = TENANT#{tenant_id}`, `sk = ONBOARDING`: what was typed during onboarding, as JSON text.

    `token` comes from the form that began it, so that a form sent twice finds its own tenant. Expires after 90 days.
    """

    SORT_KEY = "ONBOARDING"
    sk = UnicodeAttribute(range_key=True, default=SORT_KEY)
    typed = UnicodeAttribute(default="{}")
    version = NumberAttribute(default=1)
    token = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
