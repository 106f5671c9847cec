"""What the list of tenants and one tenant cost with few tenants and with many, on dynoxide.

    python -m tests.bench.tenants [--json] [--quick] [--repeats N]

Builds 20 and 2,000 tenants (with --quick 20 and 200) of 50 users and two channels each, and asks both in turn for the
same things. Prints for each: calls, capacity units, the median of the milliseconds and what was found, and the ratio of
many to few.
"""

from collections.abc import Iterator

from tests.bench.side_by_side import Bench, Item, Question, main

USERS = 50


def items(total: int) -> Iterator[Item]:
    """Every item of so many tenants, their guards too."""
    from tests.support.tenants.items import mapping, tenant, user

    for number in range(total):
        tenant_id = f"tenant-{number:05}"
        yield tenant(tenant_id, status="active" if number % 10 else "suspended")
        for person in range(USERS):
            yield user("admin" if person == 0 else f"user{person:02}", tenant_id)
        for kind in ("teams", "slack"):
            yield mapping(kind, f"{kind}{number:05}", tenant_id)
            yield {"pk": f"CHANNEL#{kind}#{kind}{number:05}", "sk": "OWNER", "tenant_id": tenant_id}


def questions() -> dict[str, Question]:
    """What is asked, by name."""
    from console.permissions import Role, Scope, Staff
    from tenants.keys import Channel
    from tenants.queries import list_tenants, load_tenant, owners_of

    everything = Staff("ada.admin", "Ada", Role.ADMIN, Scope(everything=True))
    some = Staff("olga.novak", "Olga", Role.ONBOARDING, Scope(tenants=frozenset(f"tenant-{n:05}" for n in range(20))))
    return {
        "list, scope all": lambda: {"tenants": len(list_tenants(everything).rows)},
        "list, 20 in scope": lambda: {"tenants": len(list_tenants(some).rows)},
        "one tenant": lambda: {"users": len(load_tenant("tenant-00007", everything).users)},
        "whose a channel is": lambda: {"tenants": len(owners_of(Channel("teams", "teams00007")).tenants)},
    }


BENCH = Bench(__doc__, "tenants", "TENANTS", items, questions, sizes=(20, 2_000), quick=(20, 200))

if __name__ == "__main__":
    main(BENCH)
