"""The shared client: what it takes for an answer, how long it waits, what its errors become."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from pynamodb.attributes import UnicodeAttribute

from console.errors import Conflict, NotAccepted, NotConfigured, NotFound, StoreUnavailable, TableMissing, Throttled
from console.store import calls
from console.store.calls import ConditionFailed, TransactionRefused, translate
from console.store.connection import call, client, make_client
from console.store.models import StoreModel, TableMeta
from tests import faults


class Note(StoreModel):
    class Meta(TableMeta):
        table_key = "CONSOLE"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    text = UnicodeAttribute(null=True)


def _get(store) -> dict:
    return call("GetItem", TableName=store.name("CONSOLE"), Key={"pk": {"S": "a"}, "sk": {"S": "b"}})


def _put(store, **more) -> dict:
    return call("PutItem", TableName=store.name("CONSOLE"), Item={"pk": {"S": "a"}, "sk": {"S": "b"}}, **more)


# --- Answers that cannot be trusted ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b'{"Item": {"pk": {"S": "a"}, "sk": {"S": "b"}, "te',
        b"",
        b" ",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe\x00garbage",
        b"<html><body>Sign in to the hotel wi-fi</body></html>",
        b'{"Item": {}} trailing',
    ],
    ids=["truncated", "empty", "blank", "null", "list", "text", "garbage", "html", "trailing"],
)
def test_a_broken_200_is_never_taken_for_not_found(store, body):
    store.put("CONSOLE", {"pk": "a", "sk": "b"})
    with faults.answer("GetItem", body=body), pytest.raises(StoreUnavailable) as caught:
        Note.get("a", "b")
    assert not isinstance(caught.value, NotFound)


def test_a_whole_answer_without_item_is_not_found(store):
    with pytest.raises(NotFound):
        Note.get("a", "b")


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_5xx_with_html_is_unavailable_after_the_retry_budget(store, settings, status):
    with (
        faults.answer("GetItem", body=b"<html>bad gateway</html>", status=status, times=faults.ALWAYS) as fault,
        pytest.raises(StoreUnavailable),
    ):
        _get(store)
    assert len(fault.seen) == settings.DYNAMODB_MAX_ATTEMPTS


def test_a_4xx_that_is_not_json_is_unavailable(store):
    with faults.answer("GetItem", body=b"<html>forbidden</html>", status=403), pytest.raises(StoreUnavailable):
        _get(store)


def test_descriptions_of_tables_keep_their_timestamps(store):
    table = call("DescribeTable", TableName=store.name("CONSOLE"))["Table"]
    assert table["CreationDateTime"].tzinfo is not None


def test_attribute_values_arrive_as_dynamodb_wrote_them(store):
    item = {"pk": "a", "sk": "b", "n": 7, "nothing": None, "list": [1, {"x": "ü"}], "bytes": b"\x00\x01"}
    store.put("CONSOLE", item)
    assert _get(store)["Item"]["n"] == {"N": "7"}
    assert _get(store)["Item"]["nothing"] == {"NULL": True}
    assert _get(store)["Item"]["list"] == {"L": [{"N": "1"}, {"M": {"x": {"S": "ü"}}}]}


# --- Retries and time ------------------------------------------------------------------------------------------------


def test_a_lost_connection_is_tried_again_within_the_budget(store, settings):
    with faults.fail_before("GetItem", retried=True, times=settings.DYNAMODB_MAX_ATTEMPTS - 1) as fault:
        assert "Item" not in _get(store)
    assert len(fault.seen) == settings.DYNAMODB_MAX_ATTEMPTS


def test_the_retry_budget_ends(store, settings):
    with (
        faults.fail_before("GetItem", retried=True, times=faults.ALWAYS) as fault,
        pytest.raises(StoreUnavailable, match="did not answer"),
    ):
        _get(store)
    assert len(fault.seen) == settings.DYNAMODB_MAX_ATTEMPTS


def test_throttling_is_tried_again_and_then_said(store, settings):
    with (
        faults.refuse("GetItem", code="ProvisionedThroughputExceededException", times=faults.ALWAYS) as fault,
        pytest.raises(Throttled),
    ):
        _get(store)
    assert len(fault.seen) == settings.DYNAMODB_MAX_ATTEMPTS


def test_no_attempt_starts_that_could_end_after_the_deadline(store, settings):
    too_short = settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS - 0.1
    with (
        calls.budget(too_short),
        faults.before("", lambda: None) as fault,
        pytest.raises(StoreUnavailable, match="in time"),
    ):
        _get(store)
    assert fault.seen == []


def test_a_retry_also_needs_time_left(store):
    with calls.budget(60) as budget:

        def time_passes() -> None:
            budget.deadline = 0.0

        with (
            faults.before("GetItem", time_passes),
            faults.fail_before("GetItem", retried=True, times=faults.ALWAYS) as fault,
            pytest.raises(StoreUnavailable, match="in time"),
        ):
            _get(store)
    assert len(fault.seen) == 1


def test_the_deadline_holds_in_threads_of_the_request(store):
    with calls.budget(0.5), pytest.raises(StoreUnavailable, match="in time"):
        calls.parallel(lambda: _get(store), lambda: _get(store))


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}"


def _is_closed_meanwhile(connection: socket.socket, start: bytes, rest: bytes) -> bool:
    try:
        connection.sendall(start)
        for byte in rest:
            connection.sendall(bytes([byte]))
            time.sleep(0.03)
    except OSError:
        return True
    return False


@contextmanager
def dribbling(*, headers: bool) -> Iterator[tuple[str, list[bool], threading.Event]]:
    """A server that answers a byte at a time, never silent for long; `is_well` makes it answer at once.

    Yields its address and, for each connection, whether the other side closed it before the answer was whole.
    """
    is_well, closed, threads = threading.Event(), [], []
    head, _, body = WHOLE.partition(b"\r\n\r\n")
    head = head.replace(b"Content-Length: 2", b"Content-Length: 300") + b"\r\n\r\n"
    start, rest = (b"", head) if headers else (head, body + b" " * 298)

    def serve(connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            while connection.recv(65_536):
                if is_well.is_set():
                    connection.sendall(WHOLE)
                    continue
                closed.append(_is_closed_meanwhile(connection, start, rest))
                return

    def accept(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        accepting = threading.Thread(target=accept, args=(server,), daemon=True)
        accepting.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", closed, is_well
        server.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for each in threads:
            each.join(1)


@pytest.mark.slow
@pytest.mark.parametrize("headers", [True, False], ids=["from the first byte", "its body"])
def test_an_answer_that_dribbles_is_given_up_and_its_connection_closed(settings, headers):
    settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS, settings.DYNAMODB_READ_TIMEOUT_SECONDS = 0.2, 0.4
    settings.DYNAMODB_MAX_ATTEMPTS = 2
    with dribbling(headers=headers) as (endpoint, closed, is_well):
        settings.DYNAMODB_ENDPOINT = endpoint
        started = time.monotonic()
        # As many at once as a worker has threads: none of them may be lost to it.
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(call, "GetItem", TableName="a-test", Key={"pk": {"S": "a"}}) for _ in range(8)]
            errors = [each.exception() for each in asked]
        assert [type(each) for each in errors] == [StoreUnavailable] * 8
        # Two attempts of 0.4 s and the pause between them, which is a second at most.
        assert time.monotonic() - started < 4
        is_well.set()
        assert [call("GetItem", TableName="a-test", Key={"pk": {"S": "a"}}) for _ in range(20)]
        for _ in range(100):
            if len(closed) == 16:
                break
            time.sleep(0.03)
        assert closed == [True] * 16


@pytest.mark.slow
def test_a_long_answer_that_comes_in_time_is_read_whole_on_one_connection(settings):
    body = b'{"Item": {"text": {"S": "' + b"x" * 3_000_000 + b'"}}}'
    taken = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            taken.append(self.client_address)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.DYNAMODB_ENDPOINT = f"http://127.0.0.1:{server.server_port}"
        for _ in range(3):
            answer = call("GetItem", TableName="a-test", Key={"pk": {"S": "a"}})
            assert len(answer["Item"]["text"]["S"]) == 3_000_000
        server.shutdown()
    assert len(taken) == 3
    assert len(set(taken)) == 1


def test_calls_without_a_budget_have_no_deadline(store):
    assert calls.current_budget() is None
    assert "Item" not in _get(store)


def test_time_outs_pool_and_retries_are_those_of_the_settings(settings):
    settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS = 0.5
    settings.DYNAMODB_READ_TIMEOUT_SECONDS = 1.5
    settings.DYNAMODB_MAX_CONNECTIONS = 7
    settings.DYNAMODB_MAX_ATTEMPTS = 2
    config = make_client("dynamodb").meta.config
    assert (config.connect_timeout, config.read_timeout, config.max_pool_connections) == (0.5, 1.5, 7)
    assert config.retries["total_max_attempts"] == 2


def test_one_client_serves_all_models_and_threads(store):
    clients = calls.parallel(*[client] * 8)
    assert len({id(each) for each in clients}) == 1
    assert Note._get_connection().connection.client is clients[0]


def test_another_endpoint_gets_another_client(store, settings):
    first = client()
    settings.DYNAMODB_ENDPOINT = "http://127.0.0.1:9"
    assert client() is not first
    assert client().meta.endpoint_url == "http://127.0.0.1:9"


# --- Counting --------------------------------------------------------------------------------------------------------


def test_calls_are_noted_with_their_operation_also_those_that_fail(store):
    with calls.budget(None) as budget:
        _put(store)
        with pytest.raises(Conflict):
            _put(store, ConditionExpression="attribute_not_exists(pk)")
        calls.parallel(lambda: _get(store), lambda: _get(store))
    assert [each.operation for each in budget.calls] == ["PutItem", "PutItem", "GetItem", "GetItem"]


def test_the_test_kit_sees_the_same_calls(store):
    with store.calls() as seen:
        _put(store)
        Note.get("a", "b")
    assert [(each.operation, each.tables) for each in seen] == [("PutItem", ("CONSOLE",)), ("GetItem", ("CONSOLE",))]


# --- Errors of the library become errors of the console --------------------------------------------------------------


def test_a_failed_condition_carries_the_stored_item(store):
    store.put("CONSOLE", {"pk": "a", "sk": "b", "text": "theirs"})
    with pytest.raises(ConditionFailed) as caught:
        _put(
            store,
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.item is not None
    assert caught.value.item["text"] == {"S": "theirs"}


def test_a_refused_transaction_names_why_for_each_item(store):
    store.put("CONSOLE", {"pk": "a", "sk": "b", "text": "theirs"})
    puts = [
        {
            "Put": {
                "TableName": store.name("CONSOLE"),
                "Item": {"pk": {"S": pk}, "sk": {"S": "b"}},
                "ConditionExpression": "attribute_not_exists(pk)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }
        for pk in ("new", "a")
    ]
    with pytest.raises(TransactionRefused) as caught:
        call("TransactWriteItems", TransactItems=puts)
    assert caught.value.codes == ("None", "ConditionalCheckFailed")
    assert caught.value.items[0] is None
    assert caught.value.items[1] is not None
    assert caught.value.items[1]["text"] == {"S": "theirs"}
    assert store.get("CONSOLE", pk="new", sk="b") is None


def test_an_absent_table_is_named_by_its_key(bare_store):
    with pytest.raises(TableMissing) as caught:
        _get(bare_store)
    assert caught.value.table_key == "CONSOLE"


def test_an_invalid_request_is_said_to_be_refused(store):
    with pytest.raises(NotAccepted):
        call("GetItem", TableName=store.name("CONSOLE"), Key={"wrong": {"S": "a"}})


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("ProvisionedThroughputExceededException", 400, Throttled),
        ("ThrottlingException", 400, Throttled),
        ("RequestLimitExceeded", 400, Throttled),
        ("TransactionConflictException", 400, Throttled),
        ("ResourceNotFoundException", 400, TableMissing),
        ("ValidationException", 400, NotAccepted),
        ("ExpiredTokenException", 400, NotConfigured),
        ("UnrecognizedClientException", 400, NotConfigured),
        ("AccessDeniedException", 400, NotConfigured),
        ("InternalServerError", 500, StoreUnavailable),
        ("SomethingNewException", 400, StoreUnavailable),
    ],
)
def test_each_refusal_becomes_one_error_of_the_console(store, code, status, expected):
    with faults.refuse("GetItem", code=code, status=status, times=faults.ALWAYS), pytest.raises(expected) as caught:
        _get(store)
    assert type(caught.value) is expected


@pytest.mark.parametrize(
    "error",
    [
        ConnectTimeoutError(endpoint_url="x"),
        ReadTimeoutError(endpoint_url="x"),
        EndpointConnectionError(endpoint_url="x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_connection_is_unavailable(error):
    assert type(translate(error)) is StoreUnavailable


def test_no_credentials_are_not_configured():
    assert type(translate(NoCredentialsError())) is NotConfigured


def test_messages_hold_no_table_name(store):
    with faults.refuse("GetItem", code="ResourceNotFoundException"), pytest.raises(TableMissing) as caught:
        _get(store)
    assert store.name("CONSOLE") not in str(caught.value)
