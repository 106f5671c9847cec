"""The same as beside the tests that use a store."""

from tests.store.console.staff.conftest import *  # noqa: F403
