"""Every way in which DynamoDB, or the way there, fails: at one chosen call of a request, or from that call on."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import ConnectionClosedError, NoCredentialsError, ReadTimeoutError

from tests import faults
from tests.dynamodb import SeenCall

Content = dict[str, Any]
Make = Callable[..., AbstractContextManager[faults.Fault]]
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
TYPE = "com.amazonaws.dynamodb.v20120810#"


@dataclass(frozen=True)
class Kind:
    """A kind of failure. `suits` says of which requests; `refuses`: it is DynamoDB's own no, after which nothing is
    tried again: the action has lost.
    """

    name: str
    make: Make
    suits: Callable[[Content], bool] = lambda _: True
    refuses: bool = False


def _is_write(content: Content) -> bool:
    return "TransactItems" in content or _is_single_write(content)


def _is_single_write(content: Content) -> bool:
    return "Item" in content or "UpdateExpression" in content


def _is_conditional(content: Content) -> bool:
    return "ConditionExpression" in content


def _is_transaction(content: Content) -> bool:
    return "TransactItems" in content


def _is_batch(content: Content) -> bool:
    return "RequestItems" in content


def _always_says_something(content: Content) -> bool:
    """Reads of lists, descriptions, and updates that ask for the item: an empty object is no answer to them."""
    is_description = set(content) == {"TableName"}
    return "KeyConditionExpression" in content or _is_batch(content) or is_description or "ReturnValues" in content


def _raising(error: Exception, at: Make = faults.before) -> Make:
    def raise_it() -> None:
        raise error

    return lambda operation, **which: at(operation, raise_it, **which)


def _cancelled(code: str) -> Make:
    def body(content: Content) -> Content:
        reasons = [{"Code": code}] + [{"Code": "None"}] * (len(content["TransactItems"]) - 1)
        return {
            "__type": f"{TYPE}TransactionCanceledException",
            "message": "Transaction cancelled",
            **({"CancellationReasons": reasons} if code else {}),
        }

    return partial(faults.answer, body=body, status=400)


def _unprocessed(content: Content) -> Content:
    return {"Responses": {}, "UnprocessedKeys": content["RequestItems"]}


_URL = {"endpoint_url": "https://dynamodb.example"}
KINDS = (
    Kind("throughput exceeded", partial(faults.refuse, code="ProvisionedThroughputExceededException")),
    Kind("throttled", partial(faults.refuse, code="ThrottlingException")),
    Kind("request limit exceeded", partial(faults.refuse, code="RequestLimitExceeded")),
    Kind("time-out", _raising(ReadTimeoutError(**_URL))),
    Kind("time-out, carried out", _raising(ReadTimeoutError(**_URL), faults.after), _is_write),
    Kind("connection reset", _raising(ConnectionClosedError(**_URL))),
    Kind("connection reset, carried out", _raising(ConnectionClosedError(**_URL), faults.after), _is_write),
    Kind("connection lost, carried out", faults.fail_after, _is_write),
    Kind("internal error", partial(faults.refuse, code="InternalServerError", status=500)),
    Kind("internal error, carried out", partial(faults.answer, body={}, status=500, sent=True), _is_write),
    Kind("HTML 502", partial(faults.answer, body=HTML, status=502)),
    Kind("HTML 200", partial(faults.answer, body=HTML)),
    Kind("garbage 200", partial(faults.answer, body=b"\xff\xfe\x00garbage")),
    Kind("garbage 200, carried out", partial(faults.answer, body=b"\xff\xfe\x00garbage", sent=True), _is_write),
    Kind("truncated 200", partial(faults.answer, body=b'{"Item": {"conversation_id": {"S": "ci-')),
    Kind("empty 200", partial(faults.answer, body=b"")),
    Kind("an empty object", partial(faults.answer, body={}), _always_says_something),
    Kind("missing table", partial(faults.refuse, code="ResourceNotFoundException")),
    Kind("access denied", partial(faults.refuse, code="AccessDeniedException")),
    Kind("expired credentials", partial(faults.refuse, code="ExpiredTokenException")),
    Kind("no credentials", _raising(NoCredentialsError())),
    Kind("refused as invalid", partial(faults.refuse, code="ValidationException"), refuses=True),
    Kind("condition failed", partial(faults.refuse, code="ConditionalCheckFailedException"), _is_conditional, True),
    Kind("conflict", partial(faults.refuse, code="TransactionConflictException"), _is_single_write),
    Kind("cancelled: conflict", _cancelled("TransactionConflict"), _is_transaction),
    Kind("cancelled: throttled", _cancelled("ThrottlingError"), _is_transaction),
    Kind("cancelled: condition", _cancelled("ConditionalCheckFailed"), _is_transaction, True),
    Kind("cancelled: no reasons", _cancelled(""), _is_transaction),
    Kind("unprocessed for ever", partial(faults.answer, body=_unprocessed), _is_batch),
)


@dataclass(frozen=True)
class Strike:
    """A failure of that kind at one call of a request (`lasting`: from there on). `call` as seen in a sound run."""

    kind: Kind
    call: SeenCall
    nth: int
    nth_of_kind: int
    lasting: bool

    def __str__(self) -> str:
        where = " ".join(filter(None, (self.call.operation, *self.call.tables, self.call.index)))
        return f"{self.kind.name} {'from' if self.lasting else 'at'} {where} ({self.nth})"

    @property
    def call_of(self) -> tuple[str, ...]:
        """Operation and tables of the call that is struck (first)."""
        return (self.call.operation, *self.call.tables)

    def __call__(self) -> AbstractContextManager[faults.Fault]:
        """The failure, for as long as it lasts."""
        if self.lasting:
            return self.kind.make(
                "", where=self.kind.suits, nth=self.nth_of_kind, times=faults.ALWAYS, whole_calls=True
            )
        wanted = _place(self.call.request)
        return self.kind.make(
            self.call.operation, where=lambda content: _place(content) == wanted, nth=self.nth, whole_calls=True
        )


def strikes(calls: Sequence[SeenCall], most_alike: int = 3) -> list[Strike]:
    """Every kind of failure at every call. Of calls that differ only in their table, so many are struck."""
    found = []
    places: Counter[Any] = Counter()
    alike: Counter[Any] = Counter()
    suited: Counter[str] = Counter()
    for call in calls:
        place = (call.operation, _place(call.request))
        places[place] += 1
        alike[call.operation, frozenset(call.request)] += 1
        for kind in KINDS:
            if not kind.suits(call.request):
                continue
            suited[kind.name] += 1
            if alike[call.operation, frozenset(call.request)] <= most_alike:
                nth = places[place]
                found += [Strike(kind, call, nth, suited[kind.name], lasting) for lasting in (False, True)]
    return found


def _place(content: Content) -> Any:
    """What a request addresses: its tables and index."""
    if "TransactItems" in content:
        return tuple(op["TableName"] for item in content["TransactItems"] for op in item.values())
    return (content.get("TableName"), content.get("IndexName"), tuple(sorted(content.get("RequestItems", ()))))
