"""Queues, a provider and secrets, as the tests of replies and of first messages have them."""

from tests.store.conversations.receiving.test_approvals import channel
from tests.store.conversations.sending.conftest import _secrets_endpoint, outbox, provider, secrets

__all__ = ["_secrets_endpoint", "channel", "outbox", "provider", "secrets"]
