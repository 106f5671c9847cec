"""The demo: the console on this machine with an embedded DynamoDB and data. It is above all apps; none imports it.

Dialogues are in `dialogues/`; companies, staff and tenants are in `*.toml`, so that people can edit them without
Python. The modules here turn them into items of the stores.
"""

import tomllib
from pathlib import Path
from typing import Any


def read_toml(name: str) -> dict[str, Any]:
    """Return the content of `demo/NAME.toml`."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
