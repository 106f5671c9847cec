"""Whether a store's section can be used: its tables and indexes, on the system page and on its own."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from console.facts import Fact
from console.schema.tables import TABLES
from console.store.presence import has_known_key, index_ready, table_ready
from console.system_sections import SystemSection

if TYPE_CHECKING:
    from conversations.stores.adapter import Adapter


def is_there(adapter: Adapter) -> bool:
    """Whether the store's first table is there. At most one DescribeTable a minute. Raises the store's errors."""
    return table_ready(adapter.tables[0])


def missing(adapter: Adapter) -> tuple[str, ...]:
    """What of the store is not there, in words: tables, then indexes of the tables that are. Raises as `is_there`."""
    absent = [key for key in adapter.tables if not table_ready(key)]
    there = [TABLES[key] for key in adapter.tables if key not in absent]
    return (
        *(f"the table {TABLES[key].base}" for key in absent),
        *(f"a known key of the table {spec.base}" for spec in there if not has_known_key(spec.key)),
        *(
            f"the index {index.name}"
            for spec in there
            for index in (*spec.gsis, *spec.lsis)
            if not index_ready(spec.key, index.name)
        ),
    )


def section(adapter: Adapter, now: datetime) -> SystemSection:
    """The store on the system page."""
    title = adapter.title
    if not is_there(adapter):
        return SystemSection(title, "absent", "This environment has no tables for it.", "")
    lacking = missing(adapter)
    facts = (Fact("Tables", list=tuple(TABLES[key].base for key in adapter.tables)),)
    if lacking:
        words = "Its pages say what does not work without these."
        return SystemSection(title, "partly", words, "human", (*facts, Fact("Not there", list=lacking)))
    return SystemSection(title, "ready", "Every table and index is there.", "good", facts)
