"""Hostile input of 100 KB: every piece comes back, redacted, and nothing raises.

Time is not asserted. A rule that is worse than linear shows here as a test run that does not end.
"""

import pytest

from console.redaction import redact
from tests.support.redaction.hostile import hostile_inputs

INPUTS = hostile_inputs()


@pytest.mark.slow
@pytest.mark.parametrize("name", INPUTS)
def test_hostile_input_comes_back_redacted(name):
    redacted = redact(INPUTS[name])
    assert "1" * 16 not in redacted
    assert "4471234" not in redacted
    assert "@x.io" not in redacted
    assert len(redacted) < 2 * len(INPUTS[name])


def test_keys_with_one_mask_all_stay():
    assert redact(INPUTS["colliding keys"]).count("***@***") == INPUTS["colliding keys"].count("@x.io")
