"""The registry against the five schemas, names per environment, and the refusal of mix-ups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.provisioning.definition import create_table_request, index_definition
from console.schema.environments import DEVELOPMENT, ENVIRONMENTS, is_local_endpoint, is_protected
from console.schema.tables import TABLES
from console.store.calls import key_of, table_name
from tests.refusals import refused

# Key, type, sort key, type, TTL attribute: as the schema documents say.
KEYS = {
    "CONVERSATIONS": (("primary_channel", "S"), ("conversation_id", "S"), "ttl"),
    "CONVERSATIONS_STAGE": (("conversation_id", "S"), ("message_sid", "S"), "expires_at"),
    "CONVERSATIONS_TRIGGER_LOCK": (("conversation_id", "S"), None, "expires_at"),
    "IDEMPOTENCY": (("event_id", "S"), None, "expires_at"),
    "CONVERSATION_STATE": (("conversation_id", "S"), None, "expires_at"),
    "AUDIT": (("conversation_id", "S"), ("ts_action_id", "S"), "expires_at"),
    "SESSIONS": (("UserId", "S"), ("SessionId", "S"), "SessionTTL"),
    "CHATS": (("SessionId", "S"), ("TimestampCreated", "N"), ""),
    "CHAT_MESSAGES": (("SessionId", "S"), ("TimestampCreated", "N"), "SessionTTL"),
    "IMAGE_RESPONSES": (("ImageId", "S"), None, ""),
    "THREADS": (("PK", "S"), ("SK", "S"), "ExpiryTime"),
    "TENANTS": (("pk", "S"), ("sk", "S"), ""),
    "TENANT_CONVERSATIONS": (("pk", "S"), ("sk", "S"), "ttl"),
}
GSIS = {
    "CONVERSATIONS": {
        "company-id-project-id-index": ("company_id", "project_id"),
        "company-whatsapp-number-recipient-tel-index": ("gsi_company_whatsapp_number", "gsi_recipient_tel"),
        "company-sms-number-recipient-tel-index": ("gsi_company_sms_number", "gsi_recipient_tel"),
        "company-email-recipient-email-index": ("gsi_company_email", "gsi_recipient_email"),
    },
    "CHATS": {
        "UserConverationGlobalIndex": ("UserId", "TimestampCreated"),
        "UsersLastMessageGlobalIndex": ("UserId", None),
    },
    "IMAGE_RESPONSES": {"PromptGlobalIndex": ("Prompt", "TimestampCreated")},
    "THREADS": {
        "PK-SKMessage-index-v1": ("PK", "SKMessage"),
        "PK-SKTimestampThread-index-v1": ("PK", "SKTimestampThread"),
    },
    "TENANTS": {"channel-mapping": ("gsi1pk", None)},
}
LSIS = {
    "created-at-index": ("created_at", "S"),
    "task-complete-index": ("task_complete", "N"),
    "conversation-status-index": ("conversation_status", "S"),
    "channel-method-index": ("channel_method", "S"),
}


@pytest.mark.parametrize("key", KEYS)
def test_keys_and_ttl_are_those_of_the_schema(key):
    spec = TABLES[key]
    partition, sort, ttl = KEYS[key]
    assert (spec.hash.name, spec.hash.type) == partition
    assert (None if spec.range is None else (spec.range.name, spec.range.type)) == sort
    assert spec.ttl == ttl


def test_every_table_of_others_is_in_a_schema():
    assert {key for key, spec in TABLES.items() if not spec.ours} == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_global_indexes_of_the_schema_are_all_there_with_everything_projected(key):
    found = {index.name: index for index in TABLES[key].gsis if not index.ours}
    assert {
        name: (index.hash.name, index.range.name if index.range else None) for name, index in found.items()
    } == GSIS.get(key, {})
    assert all(index_definition(index)["Projection"] == {"ProjectionType": "ALL"} for index in found.values())


def test_local_indexes_of_conversations_are_those_of_the_schema():
    found = {index.name: (index.range.name, index.range.type) for index in TABLES["CONVERSATIONS"].lsis if index.range}
    assert found == LSIS
    assert {index.hash.name for index in TABLES["CONVERSATIONS"].lsis} == {"primary_channel"}
    assert not any(spec.lsis for key, spec in TABLES.items() if key != "CONVERSATIONS")


@pytest.mark.parametrize("key", TABLES)
def test_a_table_declares_exactly_the_attributes_that_are_keys(key):
    request = create_table_request(key)
    schemas = [request["KeySchema"]] + [
        index["KeySchema"]
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for index in request.get(kind, ())
    ]
    used = {each["AttributeName"] for schema in schemas for each in schema}
    assert sorted(each["AttributeName"] for each in request["AttributeDefinitions"]) == sorted(used)
    assert request["BillingMode"] == "PAY_PER_REQUEST"


def test_the_index_of_a_project_has_two_partition_attributes_and_adds_none_to_an_item():
    [index] = [each for each in TABLES["CONVERSATIONS"].gsis if each.more_hashes]
    assert index_definition(index)["KeySchema"] == [
        {"AttributeName": "company_id", "KeyType": "HASH"},
        {"AttributeName": "project_id", "KeyType": "HASH"},
        {"AttributeName": "updated_at", "KeyType": "RANGE"},
    ]
    beside = TABLES["CONVERSATIONS"].indexes["company-id-updated-at-index"]
    assert {*index.include, "project_id"} == set(beside.include)


def test_projected_attributes_stay_within_what_dynamodb_allows():
    for spec in TABLES.values():
        assert len(spec.gsis) <= 20
        assert sum(len(index.include) for index in (*spec.gsis, *spec.lsis)) <= 100


def test_names_follow_the_environment_and_can_be_overridden(settings):
    settings.CONSOLE_ENV = "staging"
    settings.TABLE_NAMES = {"AUDIT": "trail"}
    assert table_name("CONVERSATIONS") == "conversations-staging"
    assert table_name("TENANT_CONVERSATIONS") == "tenant-conversations-staging"
    assert table_name("AUDIT") == "trail"
    assert (key_of("trail"), key_of("conversations-staging"), key_of("conversations-dev")) == (
        "AUDIT",
        "CONVERSATIONS",
        "",
    )


def test_protection_is_asked_for_outside_development_only(settings):
    for environment in ENVIRONMENTS:
        settings.CONSOLE_ENV = environment
        assert is_protected(TABLES["AUDIT"]) == (environment not in DEVELOPMENT)
        assert not is_protected(TABLES["STAFF_SESSIONS"])
        assert create_table_request("AUDIT")["DeletionProtectionEnabled"] == is_protected(TABLES["AUDIT"])


# --- what start-up refuses -----------------------------------------------------------------------------------------


def _refused(settings, environment: str, endpoint: str = "", **names: str) -> str:
    settings.CONSOLE_ENV, settings.PLAIN_HTTP = environment, False
    settings.DYNAMODB_ENDPOINT = endpoint
    settings.TABLE_NAMES = names
    return refused()


@pytest.mark.parametrize("environment", [*ENVIRONMENTS, "blue-7"])
def test_default_names_start_in_every_environment(settings, environment):
    assert _refused(settings, environment) == ""


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ("dev", "conversations-prod"),
        ("dev", "conversations-production"),
        ("dev", "prod-conversations"),
        ("dev", "PROD_conversations"),
        ("dev", "acme.staging.conversations"),
        ("staging", "conversations-dev"),
        ("prod", "conversations-staging"),
        ("prod", "conversations-dev"),
        ("blue-7", "conversations-prod"),
    ],
)
def test_a_name_of_another_environment_is_refused(settings, environment, name):
    assert "CONVERSATIONS" in _refused(settings, environment, CONVERSATIONS=name)


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ("prod", "conversations-production"),
        ("production", "conversations-prod"),
        ("dev", "conversations-development"),
        ("dev", "conversations"),
        ("dev", "latest-conversations"),
        ("dev", "products"),
        ("staging", "acme_staging_conversations"),
    ],
)
def test_a_name_of_this_environment_or_of_none_is_accepted(settings, environment, name):
    assert _refused(settings, environment, CONVERSATIONS=name) == ""


def test_a_table_whose_own_name_has_the_word_of_an_environment(settings):
    assert _refused(settings, "dev", CONVERSATIONS_STAGE="conversations-stage") == ""
    assert _refused(settings, "prod", CONVERSATIONS_STAGE="acme-conversations-stage") == ""
    assert "CONVERSATIONS_STAGE" in _refused(settings, "prod", CONVERSATIONS_STAGE="conversations-stage-dev")


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:8000", "http://localhost:8000", "http://dynamodb:8000", "https://10.0.0.7"]
)
@pytest.mark.parametrize("environment", ["prod", "production"])
def test_production_on_an_endpoint_that_is_not_aws_is_refused(settings, environment, endpoint):
    assert "is not AWS" in _refused(settings, environment, endpoint)


def test_production_on_an_endpoint_of_aws_is_accepted(settings):
    assert _refused(settings, "prod", "https://vpce-1.dynamodb.eu-west-2.vpce.amazonaws.com") == ""
    assert _refused(settings, "prod", "https://dynamodb.eu-west-2.amazonaws.com") == ""


def test_a_host_that_only_begins_like_aws_is_local():
    assert is_local_endpoint("http://dynamodb.eu-west-2.amazonaws.com.evil.example:8000")
    assert not is_local_endpoint("")


def test_an_unknown_table_setting_is_refused(settings):
    assert "TABLE_CONVERSATION" in _refused(settings, "dev", CONVERSATION="conversations-dev")


def test_two_keys_on_one_table_are_refused(settings):
    assert "same table" in _refused(settings, "dev", TENANT_CONVERSATIONS="conversations-dev")


@pytest.mark.parametrize("name", ["ab", "with space", "umlaut-ü", "x" * 256])
def test_a_name_that_dynamodb_does_not_allow_is_refused(settings, name):
    assert "AUDIT" in _refused(settings, "dev", AUDIT=name)


@pytest.mark.parametrize("environment", ["", "Dev", "a b", "-dev", "x" * 40])
def test_an_environment_must_be_a_short_lowercase_word(settings, environment):
    assert "CONSOLE_ENV" in _refused(settings, environment)


@given(
    other=st.sampled_from(["staging", "stage", "uat", "qa", "prod", "production"]),
    before=st.from_regex(r"[a-z]{0,4}[-_.]", fullmatch=True),
    after=st.from_regex(r"([-_.][0-9]{1,4})?", fullmatch=True),
)
def test_wherever_another_environment_is_named_it_is_refused(other, before, after):
    from django.test import override_settings

    name = f"conversations{before}{other}{after}"
    with override_settings(CONSOLE_ENV="dev", DYNAMODB_ENDPOINT="", TABLE_NAMES={"CONVERSATIONS": name}):
        assert "console.E008" in refused()
