"""The report about what people did."""

from collections.abc import Sequence

from console.charts import Chart, ChartColumn, ChartRow
from console.staff.colleagues import colleagues_of
from conversations.insight.conversation_facts import STAFF
from conversations.insight.identity import pseudonym_of
from conversations.insight.measures import ANY, Topic
from conversations.insight.reading import MOST_OWNERS, InsightQuery
from conversations.insight.reports.base import ChartPanel, NumberLink, Numbers, Report, links_by_place
from conversations.insight.reports.parts import counted, left_out

# The measure, name and definition of each number.
_COUNTED = (
    ("taken", "Taken", "How often people took a conversation."),
    ("answered", "Answers", "Messages that people wrote to customers from the console."),
    ("handed back", "Returned to AI", "How often people returned a conversation to the AI."),
)
_WHAT = tuple(what for what, _, _ in _COUNTED)


def names_by_pseudonym(owners: Sequence[str]) -> dict[str, str]:
    """Return the names of companies' colleagues by the pseudonyms in facts. Raises the store's errors."""
    colleagues = {each.username: each.name for owner in owners[:MOST_OWNERS] for each in colleagues_of(owner)}
    return {pseudonym_of(STAFF, username): name for username, name in colleagues.items()}


def people(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report of what people did, ordered by name and not by merit."""
    found = numbers[Topic.PEOPLE]
    figures = tuple(counted(name, found, Topic.PEOPLE, (what, ANY), means) for what, name, means in _COUNTED)
    names = names_by_pseudonym(query.owners)
    agents = {measure[1] for measure in found.total if measure[0] in _WHAT}
    known = sorted((names[each], each) for each in agents if each in names)
    rows = [ChartRow(name, tuple(found.amount(what, agent) for what in _WHAT)) for name, agent in known]
    links = links_by_place(rows, [[NumberLink(Topic.PEOPLE, (what, agent)) for what in _WHAT] for _, agent in known])
    others = [each for each in agents if each not in names]
    if others:
        counts = tuple(sum(found.amount(what, each) for each in others) for what in _WHAT)
        rows.append(ChartRow("Others, and former colleagues", counts))
    columns = tuple(ChartColumn(name) for _, name, _ in _COUNTED)
    chart = Chart("people", "By colleague", "bars", "count", columns, tuple(rows), category="Colleague")
    means = "What each colleague did in conversations that began in the period, by name."
    return Report(figures, (ChartPanel(chart, means, links),), left_out(query))
