"""Many conversations from few texts: a busy company, and any number of further ones (`manage.py demo --companies`).

The texts are in `dialogues/larkfield.txt`, and by trade in `dialogues/trades.txt`; the names are composed.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import count, islice
from random import Random
from typing import Any

from demo import read_toml
from demo.conversations import (
    HEADERS,
    KINDS,
    PROJECTS,
    PROMPT,
    PROVIDERS,
    Projects,
    dialogues,
    index_projects,
    tell_story,
)
from demo.dialogues import Dialogue, DialogueError, Turn, read

Item = dict[str, Any]
Record = tuple[str, Item]

# Area codes that each have a thousand numbers for fiction; the first customer of further companies has number 1,000.
AREAS = ("113", "114", "115", "116", "117", "118", "121", "131", "141", "151", "161")
FIRST_NUMBER = 1000
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
# How many customers of a further company did not ask for a person.
CALM = (1, 1, 1, 2)
# In every so many further companies somebody waits, and a colleague has somebody.
WAITING_EVERY, HELD_EVERY = 3, 20
# Who has them: somebody who sees all companies.
HOLDER = "ada"
# Further companies send with one account of the platform.
ACCOUNT = "platform/shared"
SHARED: tuple[Item, Item] = (
    {"account": ACCOUNT, "assistant": "The assistant", "name": "your company", "email": "replies@platform.example"},
    {"channels": list(PROVIDERS)},
)
# Shuffled, so that a few companies do not all begin with the same letter.
_PLACES: list[str] = Random("places").sample(names := read_toml("places")["places"].split(), len(names))  # nosec B311


def items(now: datetime) -> Iterator[Record]:
    """Yield the conversations of the busy company. Raises `DialogueError`."""
    numbers = count()
    for template in read("larkfield", 2, HEADERS, KINDS):
        project_id, times = template.words
        for number in islice(numbers, int(times)):
            yield from _story(template, PROJECTS, project_id, number, now)


def most_companies() -> int:
    """Return how many further companies have a name of their own. Raises `DialogueError`."""
    return len(_PLACES) * len(_trades())


def further_companies(number: int) -> list[Item]:
    """Return the first so many further companies, as in `companies.toml`. Raises `DialogueError`."""
    return [_company(place) for place in range(number)]


def further_items(companies: Sequence[Item], now: datetime) -> Iterator[Record]:
    """Yield the conversations of further companies. Raises `DialogueError`."""
    projects, numbers = index_projects(companies), count(FIRST_NUMBER)
    for place, company in enumerate(companies):
        rng = Random(company["id"])  # nosec B311
        templates = _trades()[company["trade"]]
        urgent = [each for each in templates if any(turn.kind == "human" for turn in each.turns)]
        chosen = rng.choices([each for each in templates if each not in urgent], k=rng.choice(CALM))
        chosen += rng.choices(urgent, k=place % WAITING_EVERY == 1)
        held = rng.choices(urgent, k=place % HELD_EVERY == 5)
        ids = {project["name"]: project["id"] for project in company["project"]}
        for template in (*chosen, *(_held(each) for each in held)):
            yield from _story(template, projects, ids[template.needed("project")], next(numbers), now)


@cache
def _trades() -> dict[str, list[Dialogue]]:
    """Return the texts of each trade."""
    found: dict[str, list[Dialogue]] = {}
    for template in read("trades", 1, {*HEADERS, "project"}, KINDS):
        found.setdefault(template.words[0], []).append(template)
    return found


def _company(place: int) -> Item:
    trades = list(_trades())
    # Each time round, a name goes with the next trade.
    rounds, number = divmod(place, len(_PLACES))
    name, trade = _PLACES[number], trades[(number + rounds) % len(trades)]
    key = f"{name[:3].lower()}-{place + 101}"
    slug = f"{name}-{trade}".lower()
    projects = dict.fromkeys(template.needed("project") for template in _trades()[trade])
    return {
        "id": f"ci-{key}",
        "name": f"{name} {trade}",
        "slug": slug,
        "trade": trade,
        "account": ACCOUNT,
        "assistant": "Robin",
        "representatives": [_person(Random(slug))],  # nosec B311
        "whatsapp": f"+443069990{place % 1000:03}",
        "email": f"help@{slug}.example",
        "project": [
            {"id": f"pi-{key}-{which}", "name": each, "channels": list(PROVIDERS)}
            for which, each in enumerate(projects, 1)
        ],
    }


def _held(template: Dialogue) -> Dialogue:
    """Return a text after which a colleague takes the conversation."""
    taken = Turn("taken", f"{{later}} {HOLDER}", template.place)
    return Dialogue(template.words, template.place, template.headers, [*template.turns, taken])


def _story(template: Dialogue, projects: Projects, project_id: str, number: int, now: datetime) -> Iterator[Record]:
    """Yield what becomes of a text for one customer. Raises `DialogueError`."""
    rng = Random(f"{project_id} {number}")  # nosec B311
    company, project = projects[project_id]
    minutes = _minutes(rng, waits=any(turn.kind == "human" for turn in template.turns))
    name, channel = _person(rng), rng.choice(project["channels"])
    ago, later = f"{minutes}m", f"{minutes // 2}m"
    words = {
        "first": name.split()[0],
        "number": f"{company['name'][:2].upper()}{rng.randint(10_000_000, 99_999_999)}",
        "house": rng.randint(11, 89),
        "amount": rng.randint(90, 890),
        "day": rng.choice(DAYS),
        "hour": rng.randint(9, 17),
        "ago": ago,
        "later": later,
    }

    def fill(turn: Turn) -> Turn:
        try:
            return Turn(turn.kind, turn.text.format(**words), turn.place)
        except (KeyError, IndexError, ValueError):
            raise DialogueError(turn.place, f"only these stand in braces: {', '.join(words)}") from None

    headers = {name: value for name, value in template.headers.items() if name != "project"}
    headers |= {"name": name, "channel": channel, "updated": ago}
    if channel == "email":
        headers["email"] = f"{name.replace(' ', '.').lower()}.{number}@example.org"
    else:
        headers["phone"] = f"+44{AREAS[number // 1000 % len(AREAS)]}4960{number % 1000:03}"
    prompt = Turn(PROMPT, f"Customer {name}, {project['name']}. Language: English.", template.place)
    request_id = f"req-{rng.getrandbits(32):08x}"
    made = Dialogue((project_id, request_id), template.place, headers, [prompt, *map(fill, template.turns)])
    return tell_story(made, now, projects, has_middleware=False)


def _minutes(rng: Random, *, waits: bool) -> int:
    """Return how long ago it was: for people who wait, minutes, hours or days; for others, up to a day.

    Over more days, Insight would take longer to sum them up than a visitor looks around.
    """
    return rng.randint(*rng.choice([(2, 55), (60, 1200), (1440, 8600)]) if waits else (90, 1_300))


def _person(rng: Random) -> str:
    """Return a name of parts of the names in the dialogues."""
    firsts, lasts = _names()
    return f"{rng.choice(firsts)} {rng.choice(lasts)}"


@cache
def _names() -> tuple[list[str], list[str]]:
    """Return first and last names of customers, those in Latin letters without accents."""
    found = [re.fullmatch("([A-Za-z]+) ([A-Za-z]+)", each.get("name")) for each in dialogues()]
    firsts, lasts = zip(*(each.groups() for each in found if each), strict=True)
    return sorted(set(firsts)), sorted(set(lasts))
