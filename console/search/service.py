"""Parallel search of all stores within a deadline; a store that fails or is late becomes one line."""

import contextvars
import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from console.errors import ConsoleError, NotFound, TableMissing
from console.permissions import Staff
from console.search.finders import Find, Finder, FinderResult, SearchHit, finders, with_country_codes
from console.search.meanings import UNSEARCHED, Meaning, MeaningKind, is_national, tried_with

logger = logging.getLogger(__name__)

# A slower store is reported as late, so that people see the rest.
DEADLINE_SECONDS = 3.0
# Not the shared pool, which the look-ups use themselves: they would wait for each other. A search uses some ten stores.
_pool = ThreadPoolExecutor(max_workers=24, thread_name_prefix="search")


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The hits of one store."""

    title: str
    hits: tuple[SearchHit, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """The results: `groups` have hits, `quiet` names stores without any, `lines` say what was not searched and why.

    `complete`: whether every store answered.
    """

    groups: tuple[HitGroup, ...] = ()
    quiet: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    complete: bool = True

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """All hits, without duplicate pages."""
        return tuple({hit.url: hit for group in self.groups for hit in group.hits}.values())


def search(meanings: Sequence[Meaning], staff: Staff, deadline: float = DEADLINE_SECONDS) -> Results:
    """Search every store that may have one of the meanings, in parallel, within the person's scope and permissions.

    `deadline` is in seconds. Never raises the store's errors: a store that fails becomes a line.
    """
    if staff.scope.is_empty:
        return Results(lines=("Your scope is empty, so nothing was searched.",))
    codes, meanings = with_country_codes(meanings, staff)
    allowed = [each for each in finders() if staff.can(each.permission)]
    asked = {finder.title: _start(finder, meanings, staff) for finder in allowed}
    asked = {title: futures for title, futures in asked.items() if futures}
    wait([future for futures in asked.values() for future in futures], timeout=deadline)
    groups, quiet, lines, complete = [], [], [], True
    for title, futures in asked.items():
        found, problems, answered = _gathered(title, futures)
        lines += problems
        complete &= answered
        hits = tuple({hit.url: hit for each in found for hit in each.hits}.values())
        notices = tuple(dict.fromkeys(notice for each in found for notice in each.notices))
        if hits:
            groups.append(HitGroup(title, hits, notices))
        else:
            lines += [f"{title}: {notice}" for notice in notices]
            quiet += [] if problems or notices else [title]
    lines += [UNSEARCHED[meaning.kind] for meaning in meanings if meaning.kind in UNSEARCHED]
    lines += _refused(meanings, staff)
    if not groups and any(meaning.kind is MeaningKind.PHONE and is_national(meaning.value) for meaning in meanings):
        lines.append(tried_with(codes))
    return Results(tuple(groups), tuple(quiet), tuple(dict.fromkeys(lines)), complete)


def _start(finder: Finder, meanings: Sequence[Meaning], staff: Staff) -> list[Future[FinderResult]]:
    return [
        _pool.submit(contextvars.copy_context().run, _run_finder, finder.find[meaning.kind], meaning.value, staff)
        for meaning in meanings
        if meaning.kind in finder.find
    ]


def _run_finder(find: Find, value: str, staff: Staff) -> FinderResult:
    try:
        return find(value, staff)
    except NotFound:
        # Absent and out of scope are the same answer.
        return FinderResult()


def _gathered(title: str, futures: Sequence[Future[FinderResult]]) -> tuple[list[FinderResult], list[str], bool]:
    """Return what one store found in time, a line per look-up that failed or was late, and whether all answered."""
    found, problems, answered = [], [], True
    for future in futures:
        error = future.exception() if future.done() else TimeoutError()
        if error is None:
            found.append(future.result())
        elif isinstance(error, TableMissing):
            problems.append(f"{title}: not searched, because this environment has no such tables.")
        else:
            answered = False
            future.cancel()
            problems.append(f"{title}: {_describe(title, error)}")
    return found, problems, answered


def _describe(title: str, error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time. Search again, or look there."
    if isinstance(error, ConsoleError):
        return "could not be searched. Try again in a moment."
    # A bug, not a failing store: report it as one, and keep the other stores' results.
    logger.error("A search failed in %s", title, exc_info=error)
    return "could not be searched because of an error."


def _refused(meanings: Sequence[Meaning], staff: Staff) -> list[str]:
    """Return a line that names the stores which the role may not read and that could have the typed text."""
    kinds = {meaning.kind for meaning in meanings}
    titles = [each.title for each in finders() if not staff.can(each.permission) and kinds & each.find.keys()]
    return [f"Not searched, because your role cannot read them: {', '.join(titles)}."] if titles else []
