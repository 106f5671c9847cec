"""Random codes that people read out and type: passwords to begin with, and recovery codes."""

import secrets

# Without characters that are taken for each other when read from a terminal or paper.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
GROUP_LENGTH = 5


def new_code(groups: int) -> str:
    """So many groups of `GROUP_LENGTH` characters with dashes between them: about 25 bits each."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(groups))
