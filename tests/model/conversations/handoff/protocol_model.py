"""A model of the hand-off protocol, small enough that all its interleavings can be tried.

Submissions of forms, the platform, late writes, the indexer and the reconciler take turns in every possible order, and
anyone may die between any two steps. What is proved about an action is decided by the console's own `resolution_of`,
and what becomes of the routing by its own `routing_change`. Each rule of the protocol can be left out, to see what it
is for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from django.test import override_settings

from conversations.handoff.resolution import ChainLink, Resolution, resolution_of
from conversations.handoff.stored import OFF, ROUTING_BEFORE, SWITCH, is_for_people, routing_change


@dataclass(frozen=True)
class Rules:
    """What the protocol insists on."""

    last_action_condition: bool = True  # the write is conditional on the last action that was seen
    keep_last_action: bool = True  # handing back leaves the last action
    close_once: bool = True  # a result is written only over "pending"
    chain: bool = True  # a successor that names an action proves it
    item_before_trail: bool = True  # in this order are they read
    known: bool = True  # the reconciler judges only what it knew of before it read the item
    only_write: bool = True  # "refused" by flag or agent is final only if no other write is under way
    fence: bool = True  # what is open is failed only behind a fence
    routing_as_read: bool = True  # the write is conditional on the routing from which it was worked out
    routing_repaired: bool = True  # the indexer routes as the state says that nobody's action led to


# The switch and what stood there before, as stored: texts of DynamoDB JSON, "" for absent.
ABSENT, ON, NO = "", "on", "no"


class Item(NamedTuple):
    flag: bool
    agent: str
    last_action: str
    switch: str = ABSENT
    before: tuple[str, ...] | None = None

    @property
    def routing(self) -> tuple[str, tuple[str, ...] | None]:
        return self.switch, self.before


class Record(NamedTuple):
    previous: str
    result: str
    attempts: int


@dataclass(frozen=True)
class Form:
    """A rendered form: who has it afterwards (of an assignment the colleague), what it does, and what was seen."""

    kind: str  # take_over, take, steal, assign, release (by a timer too), hand_back
    who: str
    seen: Item


class Process(NamedTuple):
    kind: str  # submit, platform, somebody, indexer, reconcile
    about: Any
    at: str
    memory: Any = None


class State(NamedTuple):
    item: Item
    records: tuple[tuple[str, Record], ...]
    processes: tuple[Process, ...]
    late: tuple[Any, ...]  # writes without an answer: (action id, routing as read)
    log: tuple[str, ...]  # ids in the order in which they took effect
    theirs: str = ABSENT  # what the switch would be without the console
    is_meddled: bool = False  # somebody else changed the switch

    def record(self, action_id: str) -> Record | None:
        return dict(self.records).get(action_id)

    def with_record(self, action_id: str, record: Record) -> "State":
        return self._replace(records=tuple(sorted((dict(self.records) | {action_id: record}).items())))


END = "end"


class Model:
    """One scenario: an item, forms by action id, and what goes on at the same time."""

    def __init__(
        self, item: Item, forms: dict[str, Form], processes: list[tuple[str, Any]], rules: Rules, mode: str = OFF
    ) -> None:
        self.forms = forms
        self.rules = rules
        self.mode = mode
        begun = tuple(Process(kind, about, "start") for kind, about in processes)
        self.start = State(item, (), begun, (), (), item.switch)

    def explore(self, *, to_the_end: bool = True) -> tuple[int, dict[str, tuple[str, ...]]]:
        """Number of states, and each violation with a story that leads to it; or, not `to_the_end`, the first one."""
        seen: set[State] = set()
        wrong: dict[str, tuple[str, ...]] = {}
        stack: list[tuple[State, tuple[str, ...]]] = [(self.start, ())]
        while stack and (to_the_end or not wrong):
            state, story = stack.pop()
            known = len(seen)
            seen.add(state)
            if len(seen) == known:
                continue
            for problem in self.problems(state):
                wrong.setdefault(problem, story)
            stack += [(after, (*story, what)) for what, after in self.steps(state)]
        return len(seen), wrong

    def goes_wrong(self) -> bool:
        """Whether any interleaving ends badly."""
        return bool(self.explore(to_the_end=False)[1])

    def problems(self, state: State) -> Iterator[str]:
        for action_id in state.log:
            if state.record(action_id) is None:
                yield f"{action_id} took effect without a record"
            if state.log.count(action_id) > 1:
                yield f"{action_id} took effect {state.log.count(action_id)} times"
        item = state.item
        if item.agent and state.log and self.mode != OFF and item.switch != ON and not state.is_meddled:
            yield "a held conversation goes to the AI"
        if self.mode == OFF and item.routing != self.start.item.routing and not state.is_meddled:
            yield "the routing was touched though that is off"
        if all(process.at == END for process in state.processes):
            settled = self.settle_at_last(state)
            for action_id, record in settled.records:
                if ", then " in record.result:
                    yield f"{action_id} is {record.result}"
                if (record.result == "success") != (action_id in settled.log):
                    yield f"{action_id} is {record.result}, effects: {settled.log.count(action_id)}"
            if not self.for_people(settled.item) and settled.item.routing != (settled.theirs, None):
                yield f"with the AI it is routed as {settled.item.routing}, before as {settled.theirs}"
            if self.for_people(settled.item) and settled.item.switch != ON and not settled.is_meddled:
                yield "what is for people goes to the AI"

    def settle_at_last(self, state: State) -> State:
        """The reconciler alone, until nothing is pending; then whatever was still under way arrives."""
        for number in range(3):
            alone = state._replace(processes=(Process("reconcile", f"last{number}", "start"),))
            while alone.processes[0].at != END:
                alone = next(after for what, after in self.steps(alone) if what not in ("dies", "late"))
            state = alone
        while state.late:
            state = self.deliver(state, state.late[0])
        if self.rules.routing_repaired:
            state = state._replace(item=self.routed(state.item, state.item.routing, is_repair=True))
        return state

    # --- routing -------------------------------------------------------------------------------------------------

    def for_people(self, item: Item) -> bool:
        return _is_for_people(self.mode, item.flag, item.agent)

    def routed(self, item: Item, read: tuple[str, tuple[str, ...] | None], *, is_repair: bool = False) -> Item:
        """The item with the routing of its state, worked out from the routing that was read."""
        for_people = self.for_people(item)
        if is_repair and for_people and read[1] is not None:
            return item
        switch, before = _rerouted(item.switch, item.before, read, for_people)
        return item._replace(switch=switch, before=before)

    # --- steps ---------------------------------------------------------------------------------------------------

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        for number, process in enumerate(state.processes):
            if process.at == END:
                continue
            for what, after, to, memory in getattr(self, f"{process.kind}_{process.at}")(state, process):
                moved = process._replace(at=to, memory=memory)
                processes = (*state.processes[:number], moved, *state.processes[number + 1 :])
                yield what, after._replace(processes=processes)
            if process.at != "start":
                died = process._replace(at=END, memory=None)
                processes = (*state.processes[:number], died, *state.processes[number + 1 :])
                yield "dies", state._replace(processes=processes)
        for write in dict.fromkeys(state.late):
            yield "late", self.deliver(state, write)

    def deliver(self, state: State, write: Any) -> State:
        late = list(state.late)
        late.remove(write)
        return self.apply(state._replace(late=tuple(late)), *write)[0]

    def apply(self, state: State, action_id: str, read: Any) -> tuple[State, bool]:
        """The conditional write, as the store carries it out; `read` is the routing from which it was worked out."""
        form, item = self.forms[action_id], state.item
        holds = (item.flag, item.agent) == (form.seen.flag, form.seen.agent)
        if self.rules.last_action_condition:
            holds = holds and item.last_action == form.seen.last_action
        if self.rules.routing_as_read and (self.mode != OFF or read[1] is not None):
            holds = holds and item.routing == read
        if not holds:
            return state, False
        match form.kind:
            case "take_over" | "take" | "steal" | "assign":
                after = item._replace(flag=True, agent=form.who, last_action=action_id)
            case "release":
                after = item._replace(flag=True, agent="", last_action=action_id)
            case _:
                kept = action_id if self.rules.keep_last_action else ""
                after = item._replace(flag=False, agent="", last_action=kept)
        after = self.routed(after, read)
        return state._replace(item=after, log=(*state.log, action_id)), True

    def submit_start(self, state: State, process: Process) -> Iterator[Any]:
        action_id = process.about
        previous = self.forms[action_id].seen.last_action
        if previous and previous not in state.log:
            return  # its form was rendered after that
        record, memory = state.record(action_id), (state.records, state.item.routing)
        if record is None:
            yield "records", state.with_record(action_id, Record(previous, "pending", 1)), "send", memory
        elif record.result == "pending":
            yield "finds it pending", state, "announce", memory
        else:
            yield "finds it closed", state, END, None

    def submit_announce(self, state: State, process: Process) -> Iterator[Any]:
        record = state.record(process.about)
        if record.result != "pending":
            yield "finds it closed", state, END, None
            return
        again = record._replace(attempts=record.attempts + 1)
        yield "announces", state.with_record(process.about, again), "send", process.memory

    def submit_send(self, state: State, process: Process) -> Iterator[Any]:
        early_trail, read = process.memory
        after, accepted = self.apply(state, process.about, read)
        if accepted:
            yield "is accepted", after, "close", "success"
        else:
            yield "is refused", state, "decide", (state.item, True, early_trail)
        lost = state._replace(late=tuple(sorted((*state.late, (process.about, read)), key=repr)))
        yield "gets no answer", lost, "reread", early_trail

    def submit_reread(self, state: State, process: Process) -> Iterator[Any]:
        yield "reads", state, "decide", (state.item, False, process.memory)

    def submit_decide(self, state: State, process: Process) -> Iterator[Any]:
        item, refused, early_trail = process.memory
        trail = state.records if self.rules.item_before_trail else early_trail
        found = self.judge(process.about, item.last_action, trail)
        if found is Resolution.APPLIED:
            yield "was applied", state, "close", "success"
        elif found is Resolution.REFUSED:
            yield "was refused", state, "close", "conflict"
        elif refused:
            yield "was refused, perhaps", state, "close", "conflict, if the only write"
        else:
            yield "is open", state, END, None

    def submit_close(self, state: State, process: Process) -> Iterator[Any]:
        record = state.record(process.about)
        result, _, condition = process.memory.partition(", ")
        if condition and self.rules.only_write and record.attempts != 1:
            yield "leaves it open", state, END, None
        else:
            yield f"writes {result}", self.close(state, process.about, result), END, None

    def close(self, state: State, action_id: str, result: str) -> State:
        record = state.record(action_id)
        if record.result != "pending":
            if self.rules.close_once or record.result == result:
                return state
            result = f"{record.result}, then {result}"
        return state.with_record(action_id, record._replace(result=result))

    def platform_start(self, state: State, process: Process) -> Iterator[Any]:
        item = state.item._replace(flag=process.about)
        yield f"platform writes {process.about}", state._replace(item=item), END, None

    def somebody_start(self, state: State, process: Process) -> Iterator[Any]:
        """Changes the switch; that people have the conversation is nothing to them."""
        mine = state.item.before is not None and process.about == ON
        item = state.item._replace(switch=process.about)
        theirs = state.theirs if mine else process.about
        yield f"somebody routes {process.about}", state._replace(item=item, theirs=theirs, is_meddled=True), END, None

    def indexer_start(self, state: State, process: Process) -> Iterator[Any]:
        yield "indexer reads", state, "write", state.item

    def indexer_write(self, state: State, process: Process) -> Iterator[Any]:
        if state.item == process.memory or not self.rules.routing_as_read:
            state = state._replace(item=self.routed(state.item, process.memory.routing, is_repair=True))
        yield "indexer repairs", state, END, None

    def reconcile_start(self, state: State, process: Process) -> Iterator[Any]:
        pending = frozenset(each for each, record in state.records if record.result == "pending")
        yield "reads trail", state, "item", pending

    def reconcile_item(self, state: State, process: Process) -> Iterator[Any]:
        yield "reads item", state, "trail", (process.memory, state.item, state.records)

    def reconcile_trail(self, state: State, process: Process) -> Iterator[Any]:
        known, item, early_trail = process.memory
        trail = state.records if self.rules.item_before_trail else early_trail
        found = self.judge_all(known, item, trail)
        if Resolution.OPEN in found.values():
            if self.rules.fence:
                yield "sees open ones", state, "fence", (known, f"F.{process.about}", item.last_action)
                return
            found = {each: Resolution.REFUSED if what is Resolution.OPEN else what for each, what in found.items()}
        yield "sees", state, "close", tuple(found.items())

    def reconcile_fence(self, state: State, process: Process) -> Iterator[Any]:
        _, fence, last_action = process.memory
        yield (
            "records fence",
            state.with_record(fence, Record(last_action, "pending", 1)),
            "last_action",
            process.memory,
        )

    def reconcile_last_action(self, state: State, process: Process) -> Iterator[Any]:
        known, fence, last_action = process.memory
        if state.item.last_action == last_action:
            state = state._replace(item=state.item._replace(last_action=fence), log=(*state.log, fence))
        yield "fences", state, "reread", known | {fence}

    def reconcile_reread(self, state: State, process: Process) -> Iterator[Any]:
        yield "reads item again", state, "retrail", (process.memory, state.item, state.records)

    def reconcile_retrail(self, state: State, process: Process) -> Iterator[Any]:
        known, item, early_trail = process.memory
        trail = state.records if self.rules.item_before_trail else early_trail
        yield "reads trail again", state, "close", tuple(self.judge_all(known, item, trail).items())

    def reconcile_close(self, state: State, process: Process) -> Iterator[Any]:
        words = {Resolution.APPLIED: "success", Resolution.REFUSED: "failed"}
        todo = [(each, words[found]) for each, found in process.memory if found in words]
        if not todo:
            yield "has done", state, END, None
            return
        (action_id, result), rest = todo[0], tuple(each for each in process.memory if each[0] != todo[0][0])
        yield f"writes {result}", self.close(state, action_id, result), "close", rest

    # --- proof ---------------------------------------------------------------------------------------------------

    def judge_all(
        self, known: frozenset[str], item: Item, trail: tuple[tuple[str, Record], ...]
    ) -> dict[str, Resolution]:
        pending = (each for each, record in trail if record.result == "pending")
        return {
            each: self.judge(each, item.last_action, trail) for each in pending if each in known or not self.rules.known
        }

    def judge(self, action_id: str, last_action: str, trail: tuple[tuple[str, Record], ...]) -> Resolution:
        if not self.rules.chain:
            return Resolution.APPLIED if last_action == action_id else Resolution.REFUSED
        records = dict(trail)
        form = self.forms.get(action_id)
        previous = form.seen.last_action if form else records[action_id].previous
        # Without its rules the protocol can leave a chain with holes; the oldest rule then holds: it moved.
        found = _verdict(action_id, previous, last_action, trail)
        return Resolution.REFUSED if found is Resolution.UNKNOWN else found


def _stored(switch: str, before: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
    value = {ON: {"BOOL": True}, NO: {"BOOL": False}}
    stored = {SWITCH: value[switch]} if switch else {}
    return stored | ({} if before is None else {ROUTING_BEFORE: {"L": [value[each] for each in before]}})


@cache
def _is_for_people(mode: str, flag: bool, agent: str) -> bool:
    with override_settings(HAND_OFF_ROUTING=mode):
        return is_for_people(flag=flag, agent=agent)


@cache
def _rerouted(
    switch: str, before: tuple[str, ...] | None, read: tuple[str, tuple[str, ...] | None], for_people: bool
) -> tuple[str, tuple[str, ...] | None]:
    """Switch and what stood there, after the change that the console works out from what it read."""
    values, removed = routing_change(_stored(*read), for_people=for_people)
    after = {name: value for name, value in (_stored(switch, before) | values).items() if name not in removed}
    words = {True: ON, False: NO}
    stood = after.get(ROUTING_BEFORE)
    return (
        words[after[SWITCH]["BOOL"]] if SWITCH in after else ABSENT,
        None if stood is None else tuple(words[each["BOOL"]] for each in stood["L"]),
    )


@cache
def _verdict(action_id: str, previous: str, last_action: str, trail: tuple[tuple[str, Record], ...]) -> Resolution:
    links = {
        each: ChainLink(each, record.previous, record.result, "hand_off.take", "", None, "", "", "")
        for each, record in trail
    }
    return resolution_of(action_id, previous, last_action, links)


def without(name: str) -> Rules:
    """All rules but one."""
    return replace(Rules(), **{name: False})
