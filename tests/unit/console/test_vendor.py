"""Scripts of others are those that were taken in: each is recorded with its version, its licence and its digest."""

import hashlib
import re
from pathlib import Path

import pytest

VENDOR = Path(__file__).resolve().parent.parent.parent.parent / "static" / "vendor"
RECORDED = re.findall(
    r"^\| `([\w.-]+)` \|.*\| ([\d.]+) \| \w+, `([\w.-]+)` \| `([0-9a-f]{64})` \|$",
    (VENDOR / "README.md").read_text(),
    re.M,
)


def test_every_file_is_recorded():
    recorded = {name for file, _, licence, _ in RECORDED for name in (file, licence)}
    assert {path.name for path in VENDOR.iterdir()} == {"README.md", *recorded}


@pytest.mark.parametrize(("file", "version", "licence", "digest"), RECORDED)
def test_a_file_is_what_was_published(file, version, licence, digest):
    content = (VENDOR / file).read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    assert f"v{version} ".encode() in content[:200]
    assert "Copyright" in (VENDOR / licence).read_text()
