"""The indexer, the roller and a rebuild at work on a world: at once, killed, held up, and begun anew."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import unquote

from conversations.indexer.handling import handle
from conversations.insight import writing
from conversations.insight.facts import FactKind, changed_days, forget_marks
from conversations.insight.identity import pseudonym_of
from conversations.insight.rolling import Rolled, roll_changed
from conversations.insight.walking import walk_all
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.dynamodb import Store
from tests.model.conversations.insight.history import Figures, History, Measure, Row
from tests.model.conversations.insight.world import STAFF, World
from tests.model.conversations.insight.writers import entry_of
from tests.support.conversations.insight.kit import rebuild
from tests.support.tenants.kit import Killed

AGENTS = (*STAFF, "ada")


class Workers(World):
    """A world whose stream is brought to Insight."""

    rebuilds: Iterator[Any] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.was: dict[str, list[StreamChange]] = {}
        self.rolled: dict[str, Rolled] = {}
        self.is_inside = False
        # What happens in the middle of the first reading of the key would wait for that to end.
        pseudonym_of("", "")

    def work(self, changed: History) -> None:
        """Some of what there is to do, by whom it may be done."""
        for each in {id(one): one for one in (changed, *self.random.sample(self.all, min(2, len(self.all))))}.values():
            if self.random.random() < 0.6:
                self.bring(each)
        if self.random.random() < 0.25 / len(self.all):
            self.roll()
        if self.random.random() < 0.03:
            self.rebuild()
        if self.random.random() < 0.05:
            self.sweep(self.random.choice(self.all))

    def settle(self) -> None:
        """The stream comes to its end, and every day is summed up."""
        for each in self.all:
            self.drained(each)
        while changed_days():
            self.now += timedelta(minutes=3)
            self.roll()

    # --- The indexer --------------------------------------------------------------------------------------------------

    def bring(self, each: History) -> None:
        """What the stream has of one: late, again, those of a while ago too, and again after a kill."""
        name = each.key["conversation_id"]
        if not self.due[name]:
            return
        changes, self.due[name], was = self.due[name], [], self.was.setdefault(name, [])
        if was and self.random.random() < 0.15:
            begins = self.random.randrange(len(was))
            changes = [*([was[begins]] if self.random.random() < 0.5 else was[begins:]), *changes]
        for change in changes:
            self._until_done(partial(self._handle, each, change))
            was.append(change)
        del was[:-4]

    def drained(self, each: History) -> None:
        while self.due[each.key["conversation_id"]]:
            self.bring(each)

    def _handle(self, each: History, change: StreamChange) -> None:
        if self.real:
            handle(change)
            self.tell(each)
            return
        if change.new is None:
            writing.remove(change.old or {})
            return
        if _asks(change):
            at, previous = change.at, (change.old or {}).get("hand_off_action_id", {}).get("S", "")
            reason = change.new["hand_off_to_human_reason"]["S"]
            name = each.key["conversation_id"]
            told = entry_of(name, at, "hand_off.request", "platform", previous=previous, reason=reason)
            self.store.put("AUDIT", told)
        writing.note_change(change.new, change.old)

    def looked_at(self, each: History) -> None:
        if (stored := self.store.raw("CONVERSATIONS", **each.key)) is not None:
            self._until_done(partial(writing.note_seen, stored, again=True))

    def sweep(self, each: History) -> None:
        """A sweep comes by, or a rebuild that is held up while other things happen, and may have read it long ago."""
        stored = self.store.raw("CONVERSATIONS", **each.key)
        if stored is None:
            return
        if self.random.random() < 0.3:
            self._until_done(partial(writing.note_seen, stored))
            return

        def meanwhile() -> None:
            self.now += timedelta(seconds=1)
            self.happen(each)
            self.drained(each)

        with self._struck(meanwhile):
            rebuild(stored)

    # --- The others ---------------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Another page of the table; a rebuild that was killed begins anew."""
        if self.rebuilds is None:
            self.rebuilds = walk_all(FactKind.CONVERSATIONS)
        try:
            with self._killed():
                if next(self.rebuilds, None) is None:
                    self.rebuilds = None
        except Killed:
            self._died()
            self.rebuilds = None

    def roll(self) -> None:
        """Sum up what has changed, until it is done; who died has forgotten what was summed up."""

        def work() -> None:
            for _ in roll_changed(self.rolled):
                pass

        def again() -> None:
            self.rolled = {}

        self._until_done(work, again)

    # --- What goes wrong ----------------------------------------------------------------------------------------------

    def _until_done(self, work: Callable[[], object], again: Callable[[], None] = lambda: None) -> None:
        while True:
            try:
                with self._killed():
                    work()
                return
            except Killed:
                self._died()
                again()

    def _killed(self) -> Any:
        """Kills one time in twelve, before or after one of the next calls."""
        if self.random.random() > 0.08 or self.is_inside:
            return nullcontext()

        def die() -> None:
            raise Killed

        return self.random.choice([faults.before, faults.after])("", die, nth=self.random.randint(1, 9))

    def _struck(self, do: Callable[[], None]) -> Any:
        def strike() -> None:
            self.is_inside = True
            do()
            self.is_inside = False

        return self.random.choice([faults.before, faults.after])("", strike, nth=self.random.randint(1, 7))

    @staticmethod
    def _died() -> None:
        """Another process begins, which knows nothing."""
        forget_marks()
        writing.forget_seen()

    # --- What is stored -----------------------------------------------------------------------------------------------

    def figures(self) -> Figures:
        """Every sum that is stored, read without the help of Insight, but for who is who."""
        names = {pseudonym_of("staff", each): each for each in AGENTS}
        names |= {pseudonym_of("project", each.company, each.project): each.project for each in self.all}
        found: Figures = {}
        for (company, topic, project, channel, day), counts in stored_figures(self.store, FactKind.CONVERSATIONS):
            measures = {tuple(names.get(part, part) for part in measure): n for measure, n in counts.items()}
            found[company, topic, names.get(project, project), channel, day] = Counter(measures)
        return found


def check(found: Figures, expected: Figures) -> None:
    """What is stored is what happened."""
    none: Counter[Measure] = Counter()
    wrong = [
        f"{row}: too many {dict(found.get(row, none) - expected.get(row, none))}, "
        f"too few {dict(expected.get(row, none) - found.get(row, none))}"
        for row in sorted({*found, *expected})
        if found.get(row) != expected.get(row)
    ]
    assert not wrong, "\n".join(wrong[:8])


def stored_figures(store: Store, kind: FactKind) -> Iterator[tuple[Row, Counter[Measure]]]:
    """Every sum of a kind that is stored and not empty: owner, topic, project, channel and day, and its counts."""
    for item in store.all("INSIGHT"):
        what, *row = item["pk"].split("#")
        if what == "SUMS" and row[0] == kind and (families := json.loads(zlib.decompress(_bytes(item["counts"])))):
            owner, topic, project, channel = (unquote(each) for each in row[1:])
            yield (owner, topic, project, channel, item["sk"]), Counter(dict(_measured(families)))


def _bytes(stored: Any) -> bytes:
    return base64.b64decode(stored) if isinstance(stored, str) else bytes(stored)


def _measured(families: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], int]]:
    """What is counted, by name and parts: by the last part, or in a row from the first number on."""
    for begin, counts in families.items():
        rows = counts if isinstance(counts, dict) else {counts[0] + place: n for place, n in enumerate(counts[1:])}
        for last, n in rows.items():
            if n:
                yield (*begin.split("\x1f")[:-1], str(last)), n


def _asks(change: StreamChange) -> bool:
    """Whether the platform raised the flag."""
    new, old = change.new or {}, change.old or {}
    flags = [each.get("hand_off_to_human", {}).get("BOOL") for each in (new, old)]
    return flags == [True, False] and new.get("hand_off_action_id") == old.get("hand_off_action_id")
