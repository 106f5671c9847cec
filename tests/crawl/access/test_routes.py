"""The table of routes is true: each cell of route, role and method is asked for and answered as it says."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from console.permissions import ROLE_PERMISSIONS, Role, Staff
from tests.crawl.access.conftest import NOBODY
from tests.crawl.access.routes import BY_NAME, METHODS, PUBLIC, ROUTES, SIGNED_IN, Route
from tests.people import COMPANY, signed_in
from tests.scenario import Scenario, Side, hand_offs, person, posts, urls

WHOEVER = (NOBODY, *(role.value for role in Role))


def patterns(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every route that there is: its whole pattern, and Django's object."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from patterns(each, prefix + str(each.pattern))
        else:
            yield prefix + str(each.pattern), each


def test_the_table_has_a_row_for_each_route_and_no_other():
    there = {(each.name, pattern) for pattern, each in patterns(get_resolver())}
    rows = {(route.name, route.pattern) for route in ROUTES}
    assert len(rows) == len(ROUTES) == len(BY_NAME)
    assert not there - rows, "routes without a row in tests/crawl/access/routes.py: say who may"
    assert not rows - there, "rows in tests/crawl/access/routes.py without a route"


def test_each_view_declares_what_its_row_says():
    for _, each in patterns(get_resolver()):
        if (row := BY_NAME.get(each.name)) is None:
            continue  # the test above names it
        view = each.callback
        permissions = getattr(view, "required_permissions", None)
        assert (getattr(view, "is_public", False), permissions is None) in ((True, True), (False, False)), each.name
        if row.who in (PUBLIC, SIGNED_IN):
            assert permissions == (None if row.who == PUBLIC else frozenset()), each.name
        else:
            allowed = {role for role in Role if permissions & ROLE_PERMISSIONS[role]}
            assert permissions, each.name
            assert allowed == row.declared, each.name


def test_each_row_has_its_requests(scenario):
    addresses, forms = urls(scenario.ours, scenario), posts(scenario.ours, scenario)
    for found, method in ((addresses, "GET"), (forms, "POST")):
        wanted = {route.name for route in ROUTES if method in route.accepts}
        missing = sorted(name for name in wanted if not found.get(name))
        assert not missing, f"routes without a {method} request in tests/scenario/requests.py: {missing}"
        assert not set(found) - wanted, f"{method} requests of routes that do not take them"


def expected(route: Route, who: str, method: str) -> str:
    """The cell: what that person is to get for that method."""
    is_opened = route.page and method in ("GET", "HEAD")
    if route.who == PUBLIC:
        answer = "404" if route.absent else "answer"
        return answer if method in route.accepts else f"to {route.page}" if is_opened else "405"
    if who == NOBODY:
        return "sign-in" if method in ("GET", "HEAD") else "401"
    if Role(who) not in route.declared:
        return "403"
    if method not in route.accepts:
        return f"to {route.page}" if is_opened else "405"
    return "answer" if Role(who) in route.roles else "403"


def observed(answer, route: Route) -> str:
    """What was got, in the words of `expected`."""
    if answer.status_code == 302 and answer["Location"].startswith("/sign-in/") and route.who != PUBLIC:
        return "sign-in"
    if answer.status_code == 405:
        allowed = route.accepts | ({"GET", "HEAD"} if route.page else set())
        return "405" if set(answer["Allow"].split(", ")) == allowed else f"405 with Allow: {answer['Allow']}"
    if answer.status_code == 302 and route.page and answer.request["REQUEST_METHOD"] in ("GET", "HEAD"):
        return f"to {resolve(answer['Location']).url_name}"
    return "answer" if answer.status_code in (200, 302) else str(answer.status_code)


class Requests:
    """The requests of one person for one side's objects: address and form of each cell."""

    def __init__(self, scenario: Scenario, who: str, side: Side) -> None:
        agent = scenario.people["agent"]
        by = scenario.people.get(who, agent)
        self.urls, self.posts = urls(side, scenario, by), posts(side, scenario, by)
        if not self.posts["conversation-hand-off"]:
            # Who may not hand off has no such forms: they try a colleague's.
            self.posts["conversation-hand-off"] = hand_offs(side, Staff.of(agent))

    def of(self, route: Route, method: str) -> tuple[str, dict]:
        """What to ask for; a method that the route does not take is tried on an address that exists."""
        if method != "POST" and "GET" in route.accepts:
            return self.urls[route.name][0], {}
        url, form = self.posts[route.name][0] if "POST" in route.accepts else (self.urls[route.name][0], {})
        return url, form if method == "POST" else {}


@pytest.mark.parametrize("who", WHOEVER)
def test_every_cell_is_as_the_table_says(scenario, browser, who):
    requests, wrong, client = Requests(scenario, who, scenario.ours), [], browser(who)
    for route in ROUTES:
        for method in METHODS:
            cell = expected(route, who, method)
            url, form = requests.of(route, method)
            got = observed(getattr(client, method.lower())(url, form), route)
            if cell != got or (got == "405" and method in ("GET", "HEAD") and not route.absent):
                wrong.append(f"{method} {route.name}: {got} instead of {cell}")
            if (method, cell) == ("POST", "answer"):
                # Some actions end sessions, their own too.
                client = browser(who)
    assert not wrong, f"{who}:\n" + "\n".join(wrong)


def test_a_refusal_is_in_the_trail_with_its_route_only(store, scenario, browser):
    agent = browser("agent")
    refused = [route for route in ROUTES if Role.AGENT not in route.declared and "GET" in route.accepts]
    addresses = urls(scenario.theirs, scenario)
    for route in refused:
        assert agent.get(addresses[route.name][0]).status_code == 403
    entries = [each for each in store.all("AUDIT") if each["action_type"] == "staff.denied"]
    noted = [each["action_payload_redacted"] for each in entries if each["actor"] == scenario.people["agent"].username]
    for route in refused:
        assert any(f'"{route.pattern}"' in payload for payload in noted), route.name
    assert not any(word in payload for payload in noted for word in (scenario.theirs.conversation_ref, "theirs."))


@pytest.mark.parametrize("role", [Role.AGENT, Role.ADMIN])
def test_another_companys_objects_are_not_there(scenario, role):
    limited = person("lea.limited", role.value, [COMPANY])
    requests, client = (
        Requests(replace(scenario, people={"agent": limited}), "agent", scenario.theirs),
        signed_in(limited),
    )
    for route in (each for each in ROUTES if role in each.roles):
        named = "<" in route.pattern.replace("<store:store>", "")
        assert bool(route.elsewhere) == named, f"{route.name}: say in `elsewhere` what another company's object gives"
        for method in route.accepts if named else ():
            url, form = requests.of(route, method)
            answer = getattr(client, method.lower())(url, form)
            assert answer.status_code == route.elsewhere, (method, route.name)
