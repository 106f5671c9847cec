"""Mutation test of the packages where a small mistake costs most: does a test fail when one piece of them is changed?

    python -m tests.mutation                        # everything
    python -m tests.mutation tenants/channels.py    # one of them, or a part of one
    python -m tests.mutation --changed origin/main  # what was changed since

Each mutant is tried on moto first; those that survive there are tried on dynoxide, which checks what moto does
not. Mutants that change nothing which anybody could see stand in `mutation_accepted.txt`, with the reason.

A process that has collected the tests forks once for each mutant, gives the function its changed code, and runs the
tests that enter this function, the fastest first, until one fails. What stands outside functions is changed while it is
imported instead, by a process that has imported the libraries alone.
"""

import argparse
import ast
import gc
import importlib
import importlib.machinery
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from demo import dynoxide
from demo.server_process import Unavailable, plain_client

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = Path(__file__).with_name("mutation_accepted.txt")

# What is mutated, and the tests that are to notice.
TARGETS: dict[str, tuple[str, ...]] = {
    "conversations/handoff": (
        "tests/unit/conversations/handoff",
        "tests/store/conversations/handoff",
        "tests/store/conversations/conversation/test_hand_off_view.py",
        "tests/store/conversations/queue/test_selected.py",
        "tests/store/conversations/attention",
        "tests/store/conversations/indexer",
        "tests/store/conversations/queue_index",
        "tests/store/conversations/outbox",
        "tests/store/conversations/receiving",
        "tests/store/conversations/sending",
        "tests/store/conversations/notifications/test_announcing.py",
    ),
    "tenants/channels.py": ("tests/store/tenants/test_channels.py", "tests/store/tenants/test_channel_conditions.py"),
    "console/permissions.py": (
        "tests/unit/console/staff/test_permissions.py",
        "tests/store/console/staff/test_guard.py",
        "tests/store/console/staff/test_directory.py",
    ),
    "console/access.py": ("tests/unit/console/staff/test_permissions.py", "tests/store/console/staff/test_guard.py"),
    "console/middleware.py": (
        "tests/store/console/staff/test_guard.py",
        "tests/store/console/staff/test_sessions.py",
        "tests/store/console/staff/test_second_step.py",
        "tests/store/console/telemetry/test_requests.py",
        "tests/store/console/telemetry/test_metrics.py",
        "tests/store/console/test_pages.py",
        "tests/store/console/test_production.py",
        "tests/store/console/test_uploads.py",
    ),
    "conversations/sending": (
        "tests/unit/conversations/work/test_checks.py",
        "tests/store/conversations/sending",
        "tests/store/conversations/work/test_gauges.py",
        "tests/store/conversations/work/test_scheduled.py",
    ),
    "conversations/receiving": (
        "tests/unit/conversations/outbox/test_rows.py",
        "tests/store/conversations/receiving",
        "tests/store/conversations/sending",
        "tests/store/conversations/notifications/test_announcing.py",
        "tests/store/conversations/outbox",
        "tests/store/conversations/work",
    ),
    "conversations/providers": ("tests/unit/conversations/providers",),
    "conversations/messages": (
        "tests/unit/conversations/messages",
        "tests/store/conversations/receiving",
        "tests/store/conversations/conversation",
    ),
    "conversations/outbox": (
        "tests/unit/conversations/outbox",
        "tests/store/conversations/outbox",
        "tests/store/conversations/receiving",
        "tests/store/conversations/sending",
    ),
    "console/redaction": ("tests/unit/redaction", "tests/model/redaction"),
    "console/refs.py": ("tests/unit/console/test_refs.py", "tests/unit/console/test_streams.py"),
    "console/audit/archive": (
        "tests/unit/console/audit/test_archive_chain.py",
        "tests/store/console/audit/test_archive_command.py",
    ),
}
NEITHER = "not browser and not crawl"
KILLED, SURVIVED, UNTRIED = "killed", "survived", "not tried"

SWAPPED: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


# --- Mutants ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change: the `number`th of its file. `function` is the outermost one that it is in, "" for none."""

    path: str
    number: int
    line: int
    last_line: int
    function: str
    what: str

    @property
    def key(self) -> str:
        """How `mutation_accepted.txt` names it: lines move, this does not."""
        return f"{self.path} {self.function or '-'}: {self.what}"

    @property
    def place(self) -> str:
        """Its name among all mutants of these files as they are."""
        return f"{self.path} {self.number}"


Replacement = tuple[ast.AST, str]


def changes_of(node: ast.AST) -> Iterator[Replacement]:
    """What to put in the place of a node, and how to call that."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            compared = ast.Compare(node.left, [SWAPPED[type(op)]()], node.comparators)
            yield compared, f"{ast.unparse(node)} -> {ast.unparse(compared)}"
        case ast.BinOp() if type(node.op) in SWAPPED:
            swapped = ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
            yield swapped, f"{ast.unparse(node)} -> {ast.unparse(swapped)}"
        case ast.BoolOp():
            yield from _without_each(node, "values", at_least=2)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand, f"{ast.unparse(node)} -> {ast.unparse(node.operand)}"
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value), f"{value} -> {not value}"
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1), f"{value} -> {value + 1}"
        case ast.Call():
            yield from _without_each(node, "keywords")
        case ast.List() | ast.Set() | ast.Tuple() if not isinstance(getattr(node, "ctx", None), ast.Store):
            yield from _without_each(node, "elts")
        case ast.Dict():
            for at, key in enumerate(node.keys):
                left = ast.Dict(node.keys[:at] + node.keys[at + 1 :], node.values[:at] + node.values[at + 1 :])
                if key is not None:
                    yield left, f"without {ast.unparse(key)}: {ast.unparse(node.values[at])}"
        case ast.If() | ast.IfExp():
            for value in (True, False):
                yield _copy(node, test=ast.Constant(value)), f"if {ast.unparse(node.test)} -> if {value}"
        case ast.match_case(guard=ast.expr() as guard):
            yield _copy(node, guard=None), f"case without if {ast.unparse(guard)}"
        case ast.comprehension(ifs=[_, *_]):
            yield from _without_each(node, "ifs")
        case ast.ExceptHandler():
            yield _copy(node, body=[ast.Raise()]), f"except {ast.unparse(node.type) if node.type else ''} raises on"
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None)), f"{ast.unparse(node)} -> return None"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass(), f"without {ast.unparse(node)}"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass(), f"without {ast.unparse(node)}"


def _without_each(node: ast.AST, field: str, at_least: int = 1) -> Iterator[Replacement]:
    parts = getattr(node, field)
    for at, part in enumerate(parts):
        if len(parts) >= at_least and not (isinstance(part, ast.keyword) and part.arg in (None, "strict")):
            left = parts[:at] + parts[at + 1 :]
            changed = left[0] if isinstance(node, ast.BoolOp) and len(left) == 1 else _copy(node, **{field: left})
            where = ast.unparse(node.func) + "(): " if isinstance(node, ast.Call) else ""
            yield changed, f"{where}without {ast.unparse(part)}"


def _copy(node: ast.AST, **changes: object) -> ast.AST:
    return type(node)(**(dict(ast.iter_fields(node)) | changes))


def _is_left_alone(parent: ast.AST, field: str, node: ast.AST) -> bool:
    """Types, messages and logs: no change of behaviour, or one that other checks see."""
    if field in ("annotation", "returns", "decorator_list", "bases", "slice", "cause"):
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and "logger." in ast.unparse(node))


def _walk(node: ast.AST, function: str = "", scope: str = "") -> Iterator[tuple[ast.AST, str, int | None, str]]:
    """Every place of a node: its parent, field and index there, and the outermost function around it."""
    inside = function or (scope if isinstance(node, ast.FunctionDef) else "")
    for field, value in ast.iter_fields(node):
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_left_alone(node, field, child):
                continue
            # Defaults of parameters are evaluated where the function is defined.
            around = inside if field == "body" or function else ""
            yield node, field, at, around
            name = f"{scope}.{child.name}".lstrip(".") if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
            yield from _walk(child, around, name)


def each_mutant(path: str, tree: ast.Module) -> Iterator[Mutant]:
    """Every mutant of a module. While one is yielded the tree is this mutant."""
    number, seen = 0, Counter[tuple[str, str]]()
    for parent, field, at, function in list(_walk(tree)):
        held = getattr(parent, field)
        child = held if at is None else held[at]
        for changed, what in changes_of(child):
            ast.fix_missing_locations(ast.copy_location(changed, child))
            setattr(parent, field, changed if at is None else [*held[:at], changed, *held[at + 1 :]])
            what = " ".join(what.split())[:160]
            seen[function, what] += 1
            again = f" #{seen[function, what]}" if seen[function, what] > 1 else ""
            yield Mutant(path, number, *_lines(child, parent), function, what + again)
            number += 1
        setattr(parent, field, held)


def _lines(node: ast.AST, parent: ast.AST) -> tuple[int, int]:
    """First and last line of what a change is about: of a branch, its condition."""
    about = getattr(node, "test", None) or getattr(node, "guard", None) or getattr(node, "type", None) or node
    about = about if hasattr(about, "lineno") else parent
    return getattr(about, "lineno", 1), getattr(about, "end_lineno", 1)


def code_of(mutant: Mutant) -> types.CodeType:
    """The mutant's module."""
    path = ROOT / mutant.path
    tree = ast.parse(path.read_text())
    for each in each_mutant(mutant.path, tree):
        if each.number == mutant.number:
            return compile(tree, str(path), "exec")
    raise LookupError(mutant)


def mutants_of(target: str, since: str) -> list[Mutant]:
    """The mutants of a file or folder; with a revision, of the lines that were changed since."""
    paths = [ROOT / target] if target.endswith(".py") else sorted((ROOT / target).rglob("*.py"))
    found = []
    for path in paths:
        name = str(path.relative_to(ROOT))
        lines = _changed_lines(name, since) if since else None
        if lines is None or lines:
            found += [
                each
                for each in each_mutant(name, ast.parse(path.read_text()))
                if lines is None or lines & set(range(each.line, each.last_line + 1))
            ]
    return found


def _changed_lines(path: str, since: str) -> set[int]:
    command = ["git", "-C", str(ROOT), "diff", "-U0", "--no-ext-diff", since, "--", path]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"git cannot tell what was changed since {since}: {ran.stderr.strip()}")
    hunks = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", ran.stdout, re.MULTILINE)
    return {line for start, count in hunks for line in range(int(start), int(start) + int(count or 1))}


# --- Processes -------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """Work of a child process: `run` is given the number of its slot and answers its exit code."""

    of: Mutant
    run: Callable[[int], int]
    seconds: float


def fork(work: Callable[[], int], *, quiet: bool = True) -> int:
    """Start a child in a process group of its own; its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        os.setpgid(0, 0)
        if quiet:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
        code = work()
    finally:
        os._exit(code)


def in_children(jobs: Iterable[Job], slots: int, deadline: float) -> Iterator[tuple[Mutant, str]]:
    """Run jobs, so many at a time, and say of each mutant what became of it. Nothing is begun after the deadline."""
    waiting, free = list(reversed(list(jobs))), list(range(slots))
    running: dict[int, tuple[Job, int, float]] = {}
    while waiting or running:
        while waiting and free:
            job = waiting.pop()
            if time.monotonic() > deadline:
                yield job.of, UNTRIED
                continue
            slot = free.pop()
            pid = fork(partial(job.run, slot))
            running[pid] = (job, slot, time.monotonic() + job.seconds)
        for pid, (job, slot, end) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            late = not done and time.monotonic() > end
            if late:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if done or late:
                del running[pid]
                free.append(slot)
                # Whoever does not come to an end was noticed too.
                yield job.of, SURVIVED if done and os.waitstatus_to_exitcode(status) == 0 else KILLED
        time.sleep(0.005)


# --- Tests -----------------------------------------------------------------------------------------------------------


class SharedServer:
    """Stands in for `Dynoxide`: one that runs already, without tables."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def start(self) -> str:
        """Its endpoint, with all tables of whoever used it before gone."""
        client = plain_client(self._endpoint)
        for page in client.get_paginator("list_tables").paginate():
            for name in page["TableNames"]:
                client.update_table(TableName=name, DeletionProtectionEnabled=False)
                client.delete_table(TableName=name)
        return self._endpoint

    def stop(self) -> None:
        """Left running for the next."""


@dataclass
class Runner:
    """Tries mutants on one store: moto, or dynoxide where `servers` has the endpoint of one for each slot."""

    slots: int
    deadline: float
    servers: tuple[str, ...] = ()
    slow: bool = False

    def arguments(self, tests: Iterable[str]) -> list[str]:
        """The command line of pytest for these tests, in one process."""
        quick = NEITHER if self.slow else f"{NEITHER} and not slow"
        marks = f"({quick}) and (store or dynoxide_only)" if self.servers else quick
        options = ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "-o", "addopts=", "-m", marks]
        return [*options, *(["--dynoxide"] if self.servers else []), *tests]

    def use_server(self, slot: int) -> None:
        """Make tests of this process use the server of a slot."""
        if self.servers:
            setattr(dynoxide, "Dynoxide", partial(SharedServer, self.servers[slot]))  # noqa: B010

    def tried(self, mutants: list[Mutant], tests: list[str]) -> Iterator[tuple[Mutant, str]]:
        """Each mutant and what became of it: those of functions first, then those of what is outside."""
        inside = [each for each in mutants if each.function]
        outside = [each for each in mutants if not each.function]
        if inside:
            with tempfile.TemporaryFile("w+") as answers:
                pid = fork(lambda: pytest.main(self.arguments(tests), [Swapping(self, inside, answers)]), quiet=False)
                if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
                    sys.exit(f"The tests do not pass without any mutant, or could not run (exit code {code}).")
                answers.seek(0)
                told = dict(json.loads(line) for line in answers)
            yield from ((each, told[each.place]) for each in inside if told[each.place] != "imported")
            outside += [each for each in inside if told[each.place] == "imported"]
        jobs = [Job(each, partial(self._imported, each, tests), 120.0) for each in outside]
        yield from in_children(jobs, self.slots, self.deadline)

    def _imported(self, mutant: Mutant, tests: list[str], slot: int) -> int:
        """Run tests with a module that is the mutant from the start."""
        self.use_server(slot)
        path, code = str(ROOT / mutant.path), code_of(mutant)
        usual = importlib.machinery.SourceFileLoader.get_code

        def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> types.CodeType | None:
            return code if loader.get_filename(name) == path else usual(loader, name)

        setattr(importlib.machinery.SourceFileLoader, "get_code", get_code)  # noqa: B010
        return int(pytest.main(self.arguments(tests)))


class Swapping:
    """A plugin of pytest: in place of running the tests once, forks for each mutant once they are collected."""

    def __init__(self, runner: Runner, mutants: list[Mutant], answers: IO[str]) -> None:
        self.runner = runner
        self.mutants = mutants
        self.answers = answers
        self.entered: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All mutants of functions."""
        if session.testsfailed:
            raise session.Failed("The tests could not be collected.")
        functions = self._functions()
        tests = self._what_tests_enter(session, functions)
        jobs = []
        for mutant in self.mutants:
            found = functions.get((mutant.path, mutant.function), [])
            items = tests[f"{mutant.path} {mutant.function}"]
            if not items or any(function.__code__.co_freevars for function in found):
                self._tell(mutant, "imported")
                continue
            seconds = 10 + 4 * sum(took for took, _ in items)
            jobs.append(Job(mutant, self._trial(session, mutant, found, [item for _, item in items]), seconds))
        for mutant, became in in_children(jobs, self.runner.slots, self.runner.deadline):
            self._tell(mutant, became)
        return True

    def _tell(self, mutant: Mutant, became: str) -> None:
        self.answers.write(json.dumps([mutant.place, became]) + "\n")
        self.answers.flush()

    def _functions(self) -> dict[tuple[str, str], list[types.FunctionType]]:
        """The functions that have mutants, wherever decorators and classes keep them."""
        wanted = {(str(ROOT / each.path), each.function): (each.path, each.function) for each in self.mutants}
        for path in {each.path for each in self.mutants}:
            importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        found = defaultdict(list)
        for each in gc.get_objects():
            # Proxies of Django would be set up by `isinstance`.
            if type(each) is types.FunctionType:
                place = (each.__code__.co_filename, each.__code__.co_qualname)
                if place in wanted:
                    found[wanted[place]].append(each)
        return found

    def _what_tests_enter(
        self, session: pytest.Session, functions: dict[tuple[str, str], list[types.FunctionType]]
    ) -> dict[str, list[tuple[float, pytest.Item]]]:
        """By function, the tests that enter it and the seconds that each takes, the fastest first."""
        with tempfile.TemporaryFile("w+") as notes:

            def work() -> int:
                self.runner.use_server(0)
                self._note_entries(functions)
                for item, after in _with_next(session.items):
                    self.entered.clear()
                    started = time.perf_counter()
                    reports = _run(item, after)
                    if any(report.failed for report in reports):
                        print(f"{item.nodeid}: {[report.longreprtext for report in reports if report.failed]}")
                        return 1
                    notes.write(json.dumps([time.perf_counter() - started, sorted(self.entered)]) + "\n")
                notes.flush()
                return 0

            _, status = os.waitpid(fork(work, quiet=False), 0)
            if status:
                raise session.Failed("A test fails without any mutant.")
            notes.seek(0)
            entering = defaultdict(list)
            for item, line in zip(session.items, notes, strict=True):
                took, entered = json.loads(line)
                for function in entered:
                    entering[function].append((took, item))
        return defaultdict(list, {name: sorted(found, key=lambda each: each[0]) for name, found in entering.items()})

    def _note_entries(self, functions: dict[tuple[str, str], list[types.FunctionType]]) -> None:
        """Make each of these functions note that it was entered."""
        for path in {path for path, _ in functions}:
            tree = ast.parse((ROOT / path).read_text())
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    node.body.insert(0, ast.parse("__entered__()").body[0])
            code = compile(ast.fix_missing_locations(tree), str(ROOT / path), "exec")
            for of, name in functions:
                for function in functions[of, name] if of == path else ():
                    # The globals are shared by all functions of a module: each calls its own.
                    note, swapped = f"__entered_{name}__", _swapped(code, function)
                    function.__globals__["__entered__"] = lambda: None  # of functions within functions
                    function.__globals__[note] = partial(self.entered.add, f"{path} {name}")
                    names = tuple(note if each == "__entered__" else each for each in swapped.co_names)
                    function.__code__ = swapped.replace(co_names=names)

    def _trial(
        self, session: pytest.Session, mutant: Mutant, functions: list[types.FunctionType], items: list[pytest.Item]
    ) -> Callable[[int], int]:
        def run(slot: int) -> int:
            self.runner.use_server(slot)
            session.config.pluginmanager.unregister(name="terminalreporter")
            code = code_of(mutant)
            for function in functions:
                function.__code__ = _swapped(code, function)
            return int(any(any(report.failed for report in _run(item, after)) for item, after in _with_next(items)))

        return run


def _with_next(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def _run(item: pytest.Item, after: pytest.Item | None) -> list[pytest.TestReport]:
    reports: list[pytest.TestReport] = []

    class Collecting:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            reports.append(report)

    plugin = Collecting()
    item.config.pluginmanager.register(plugin)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    item.config.pluginmanager.unregister(plugin)
    return reports


def _swapped(code: types.CodeType, function: types.FunctionType) -> types.CodeType:
    """The code of a function in a module that was compiled anew."""
    wanted = (function.__code__.co_qualname, function.__code__.co_firstlineno)
    left = [code]
    while left:
        each = left.pop()
        if (each.co_qualname, each.co_firstlineno) == wanted:
            return each
        left += [inner for inner in each.co_consts if isinstance(inner, types.CodeType)]
    raise LookupError(wanted)


# --- The command -----------------------------------------------------------------------------------------------------


def main() -> int:
    """Exit code 1 where a mutant survives that is not accepted."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Which mistakes would no test see?")
    parser.add_argument("targets", nargs="*", help="files or folders among: " + ", ".join(TARGETS))
    parser.add_argument("--changed", metavar="SINCE", default="", help="only lines that were changed since a revision")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin nothing after so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tried at a time")
    parser.add_argument("--slow", action="store_true", help="with the tests that are marked as slow")
    options = parser.parse_args()
    started = time.monotonic()
    # Property tests draw the same examples for each mutant.
    os.environ["CI"] = "true"
    chosen = _chosen(options.targets, options.changed)
    mutants = [each for found in chosen.values() for each in found]
    if not mutants:
        print("Nothing that is mutated was changed." if options.changed else "Nothing to mutate there.")
        return 0
    # Where the time does not suffice, what was tried is a sample of all.
    random.Random(len(mutants)).shuffle(mutants)
    tests = list(dict.fromkeys(test for target in chosen for test in TARGETS[target]))
    print(f"{len(mutants)} mutants", flush=True)
    deadline = started + options.minutes * 60
    _import_libraries()
    became = dict(Runner(options.jobs, deadline, slow=options.slow).tried(mutants, tests))
    survivors = [each for each in mutants if became[each] == SURVIVED]
    print(f"{len(survivors)} survive on moto, after {time.monotonic() - started:.0f} s", flush=True)
    if survivors and time.monotonic() < deadline:
        found = _on_dynoxide(survivors, tests, options.jobs, deadline)
        became |= {each: result for each, result in found.items() if result != UNTRIED}
    return _report(became, time.monotonic() - started, whole=not (options.targets or options.changed))


def _chosen(named: list[str], since: str) -> dict[str, list[Mutant]]:
    chosen = {}
    for target in TARGETS:
        if not (ROOT / target).exists():
            sys.exit(f"{target} is not there (any more): TARGETS of tests/mutation.py is to be corrected.")
        parts = [target] if not named else [each for each in named if f"{each}/".startswith(f"{target}/")]
        if found := [mutant for part in parts for mutant in mutants_of(part, since)]:
            chosen[target] = found
    return chosen


def _import_libraries() -> None:
    """What takes long to import, once for all children."""
    for name in ("django.test", "hypothesis", "moto.dynamodb", "moto.server", "pynamodb.models"):
        importlib.import_module(name)


def _on_dynoxide(mutants: list[Mutant], tests: list[str], jobs: int, deadline: float) -> dict[Mutant, str]:
    servers = [dynoxide.Dynoxide() for _ in range(jobs)]
    try:
        endpoints = tuple(server.start() for server in servers)
        return dict(Runner(jobs, deadline, endpoints).tried(mutants, tests))
    except Unavailable as unavailable:
        print(f"Tried on moto alone: {unavailable}")
        return {}
    finally:
        for server in servers:
            server.stop()


def _report(became: dict[Mutant, str], seconds: float, *, whole: bool) -> int:
    lines = [line for line in ACCEPTED.read_text().splitlines() if line.strip() and not line.startswith("#")]
    accepted = {line.partition("  # ")[0].strip() for line in lines}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    left = []
    for mutant in sorted(became, key=lambda each: (each.path, each.line, each.number)):
        result = became[mutant]
        if result == SURVIVED:
            result = "accepted" if mutant.key in accepted else SURVIVED
        if result == SURVIVED:
            left.append(mutant)
        counts[mutant.path][result] += 1
    for path, count in sorted(counts.items()):
        print(f"{path}: " + ", ".join(f"{number} {result}" for result, number in sorted(count.items())))
    for mutant in left:
        print(f"{mutant.path}:{mutant.line}: survived: {mutant.key}")
    if whole and (stale := accepted - {mutant.key for mutant in became}):
        print("No mutants any more, to be taken out of mutation_accepted.txt:", *sorted(stale), sep="\n  ")
    total = sum(counts.values(), Counter())
    print(f"{', '.join(f'{number} {result}' for result, number in sorted(total.items()))} in {seconds:.0f} s")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
