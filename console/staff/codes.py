"""Random codes that people read out and type: initial passwords and recovery codes."""

import secrets

# Without characters that are easily confused on a terminal or on paper.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
GROUP_LENGTH = 5


def new_code(groups: int) -> str:
    """Return `groups` random groups of `GROUP_LENGTH` characters, joined by dashes: about 25 bits each."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(groups))
