"""Tables of the test's own, and queues, a provider and secrets, as the tests of replies have them."""

import pytest

from tests.dynamodb import Store
from tests.store.conversations.receiving.test_approvals import channel
from tests.store.conversations.sending.conftest import _secrets_endpoint, outbox, provider, secrets

__all__ = ["_secrets_endpoint", "channel", "outbox", "provider", "secrets", "store"]


@pytest.fixture
def store(store, request) -> Store:
    """Streams begin with the test: dynoxide keeps those of tables, with what all tests before have written."""
    if store.embedded:
        return store
    own: Store = request.getfixturevalue("bare_store")
    own.create_tables()
    return own
