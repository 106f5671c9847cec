"""The same as beside the tests that use a store."""

from tests.store.conversations.indexer.conftest import *  # noqa: F403
