"""Accounts of the people who use the console, and their sessions: two tables of the console's own."""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, IncludeProjection

from console.permissions import PASSWORD
from console.schema.tables import TABLES
from console.store.models import PlainListAttribute, StoreModel, TableMeta


class RoleIndex(GlobalSecondaryIndex["StaffAccount"]):
    """Accounts of a role, by username: the list of staff, without secrets."""

    class Meta:
        index_name = "role-index"
        projection = IncludeProjection(list(TABLES["STAFF"].indexes["role-index"].include))

    role = UnicodeAttribute(hash_key=True)
    username = UnicodeAttribute(range_key=True)


class StaffAccount(StoreModel):
    """One member of staff. Instants are ISO 8601 text in UTC.

    `epoch` counts the changes that end every session: of password, role, scope or second factor, and disabling. A
    session stores the epoch it began in and is invalid as soon as the two differ.

    `totp_secret` is sealed (see `console.staff.second_factor`); `recovery_codes` and `password_link_hash` are hashes.
    `oidc_subject` is a hash of the provider and its id for the person; absent until their first company sign-in.
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
    signs_in_with = UnicodeAttribute(default=PASSWORD)
    oidc_subject = UnicodeAttribute(null=True)
    password_link_hash = UnicodeAttribute(null=True)
    password_link_expires_at = UnicodeAttribute(null=True)
    totp_secret = UnicodeAttribute(null=True)
    # The last time step whose code was used, so that no code works twice.
    totp_last_step = NumberAttribute(null=True)
    recovery_codes = UnicodeSetAttribute(null=True)
    second_factor_at = UnicodeAttribute(null=True)

    by_role = RoleIndex()


class UsernameIndex(GlobalSecondaryIndex["StaffSession"]):
    """Sessions of an account, by when they began."""

    class Meta:
        index_name = "username-index"
        projection = AllProjection()

    username = UnicodeAttribute(hash_key=True)
    created_at = UnicodeAttribute(range_key=True)


class StaffSession(StoreModel):
    """One signed-in browser. The key is a hash of the cookie's token, so that reading the table yields no session."""

    class Meta(TableMeta):
        table_key = "STAFF_SESSIONS"

    session_id = UnicodeAttribute(hash_key=True)
    username = UnicodeAttribute()
    epoch = NumberAttribute()
    created_at = UnicodeAttribute()
    last_seen_at = UnicodeAttribute()
    # Epoch seconds: the absolute limit, after which DynamoDB may delete the item.
    expires_at = NumberAttribute()
    user_agent = UnicodeAttribute(null=True)
    # The client's network address at sign-in, as a trusted proxy gave it; for IPv6, its /64 network.
    address = UnicodeAttribute(null=True)
    # The sign-in method, in words; see `console.staff.sessions`.
    method = UnicodeAttribute(null=True)
    # The company's own sign-in stated a second factor.
    second_factor = BooleanAttribute(null=True)
    # The role needs a second factor, and the account had none at sign-in.
    lacks_second_factor = BooleanAttribute(null=True)

    by_username = UsernameIndex()
