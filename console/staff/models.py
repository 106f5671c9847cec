"""Accounts of the people who use the console, and who is signed in: two tables of the console's own."""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute

from console.dynamodb.attributes import PlainListAttribute
from console.dynamodb.models import StoreModel, TableMeta
from console.errors import StoreUnavailable
from console.staff.permissions import Role, Scope, Staff


class StaffAccount(StoreModel):
    """One member of staff. Instants are ISO 8601 text in UTC.

    `epoch` counts the changes that end every session: of password, role or scope, and disabling. A session bears
    the epoch it began in and is over as soon as the two differ.
    """

    class Meta(TableMeta):
        table_key = "STAFF"

    username = UnicodeAttribute(hash_key=True)
    password_hash = UnicodeAttribute()
    display_name = UnicodeAttribute(null=True)
    role = UnicodeAttribute()
    scope = PlainListAttribute(default=list)
    time_zone = UnicodeAttribute(default="UTC")
    disabled = BooleanAttribute(default=False)
    disabled_at = UnicodeAttribute(null=True)
    epoch = NumberAttribute(default=1)
    created_at = UnicodeAttribute()
    updated_at = UnicodeAttribute()
    last_sign_in_at = UnicodeAttribute(null=True)

    def as_staff(self, session_id: str = "") -> Staff:
        """The person as services and views see them. Raises `StoreUnavailable` for a role this version lacks."""
        try:
            role = Role(self.role)
        except ValueError as error:
            raise StoreUnavailable("Your account could not be read.") from error
        return Staff(
            username=self.username,
            display_name=self.display_name or self.username,
            role=role,
            scope=Scope.of(self.scope or []),
            time_zone=self.time_zone or "UTC",
            session_id=session_id,
        )


class StaffSession(StoreModel):
    """One signed-in browser. The key is a hash of the cookie's token, so that the table gives nobody a session."""

    class Meta(TableMeta):
        table_key = "STAFF_SESSIONS"

    session_id = UnicodeAttribute(hash_key=True)
    username = UnicodeAttribute()
    epoch = NumberAttribute()
    created_at = UnicodeAttribute()
    last_seen_at = UnicodeAttribute()
    # Epoch seconds: the absolute limit, when DynamoDB may remove the item.
    expires_at = NumberAttribute()
    user_agent = UnicodeAttribute(null=True)
