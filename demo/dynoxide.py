"""dynoxide, an open engine that answers as DynamoDB does: for the tests, and for a demo that keeps its data.

It is one binary: in `.cache/dynoxide/`, where `python -m demo.dynoxide` builds it once, or on the PATH.
"""

import shutil
import subprocess  # cargo and dynoxide, with arguments of our own  # nosec B404
import sys
from pathlib import Path
from typing import Any

from demo.server_process import ROOT, ServerProcess, Unavailable

CACHE = ROOT / ".cache" / "dynoxide"
# Of the program and its images, and of its package for cargo, which has numbers of its own.
VERSION, CRATE = "1.5.0", "dynoxide-rs@3.2.0"
# What serves DynamoDB's API over SQLite: without the tools for agents and the import.
FEATURES = "native-sqlite,http-server,cli"
# What it needs of Rust.
LEAST_RUST = "1.88"


def find() -> Path | None:
    """Return the path of the binary in the version that the tests know, or None."""
    on_path = shutil.which("dynoxide")
    for binary in (CACHE / "bin" / "dynoxide", *([Path(on_path)] if on_path else [])):
        if _version(binary) == VERSION:
            return binary
    return None


def build() -> Path:
    """Return the path of the binary; build it with cargo, which takes minutes, if needed. Raises `Unavailable`."""
    if found := find():
        return found
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Unavailable(
            f"To build dynoxide {VERSION}, install Rust {LEAST_RUST} or newer (cargo-web of Debian 12, or rustup), "
            "or put its binary on the PATH."
        )
    options = ["--locked", "--no-default-features", "--features", FEATURES, "--root", str(CACHE)]
    if subprocess.run([cargo, "install", "--quiet", CRATE, *options], check=False).returncode:  # nosec B603
        raise Unavailable(f"cargo could not build dynoxide {VERSION}. It needs Rust {LEAST_RUST} and a C compiler.")
    found = find()
    if found is None:
        raise Unavailable(f"{CRATE} is not dynoxide {VERSION}")
    return found


def _version(binary: Path) -> str:
    """Return what a binary says of itself, or nothing where there is none that runs."""
    try:
        ran = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)  # nosec B603
    except OSError:
        return ""
    return ran.stdout.removeprefix("dynoxide").strip()


class Dynoxide(ServerProcess):
    """dynoxide with its data in a SQLite `file`, or in memory without one."""

    title, service = "dynoxide", "dynamodb"

    def __init__(self, file: Path | None = None) -> None:
        super().__init__()
        self._stored = [] if file is None else ["--db-path", str(file)]

    def _command(self, port: int) -> list[str]:
        binary = find()
        if binary is None:
            raise Unavailable(f"dynoxide {VERSION} is not installed. Build it once: python -m demo.dynoxide")
        return [str(binary), "--port", str(port), *self._stored]

    def _ask(self, client: Any) -> object:
        return client.list_tables()


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build()}\n")
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
