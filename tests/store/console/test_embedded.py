"""The embedded DynamoDB: atomic transactions under threads, nothing but DynamoDB served, and only to its clients."""

import http.client
import json
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pynamodb.attributes import UnicodeAttribute

from console.store.calls import TransactionRefused
from console.store.connection import transaction
from console.store.models import StoreModel, TableMeta
from demo.embedded import EmbeddedDynamoDB
from demo.server_process import plain_client
from tests import faults
from tests.dynamodb import Store


class Note(StoreModel):
    class Meta(TableMeta):
        table_key = "CONSOLE"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)


def _claim(store: Store, number: int, agent: int) -> bool:
    """Two new items in one transaction: whether this agent was the one to write them."""
    puts = [
        {
            "Put": {
                "TableName": store.name("CONSOLE"),
                "Item": {"pk": {"S": f"{number}"}, "sk": {"S": sk}, "agent": {"N": f"{agent}"}},
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }
        for sk in ("claim", "trail")
    ]
    try:
        store.client.transact_write_items(TransactItems=puts)
    except (store.client.exceptions.TransactionCanceledException, store.client.exceptions.TransactionConflictException):
        return False
    return True


@pytest.mark.slow
def test_each_claim_has_one_winner_when_sixteen_threads_race(store):
    with ThreadPoolExecutor(16) as pool:
        for number in range(10):
            won = list(pool.map(lambda agent, number=number: _claim(store, number, agent), range(16)))
            assert sum(won) == 1
            stored = [item["agent"] for item in store.all("CONSOLE") if item["pk"] == str(number)]
            assert stored == [won.index(True)] * 2


def test_both_items_of_a_transaction_are_written_or_none(store):
    store.put("CONSOLE", {"pk": "1", "sk": "trail", "agent": 0})
    assert not _claim(store, 1, 7)
    assert store.all("CONSOLE") == [{"pk": "1", "sk": "trail", "agent": 0}]


def test_a_transaction_sent_again_after_a_lost_answer_is_carried_out_once(store):
    with faults.fail_after("TransactWriteItems", retried=True) as fault, transaction() as writes:
        writes.save(Note(pk="1", sk="claim"), condition=Note.pk.does_not_exist())
    assert fault.seen == ["TransactWriteItems"] * 2
    assert store.all("CONSOLE") == [{"pk": "1", "sk": "claim"}]
    # Another transaction of the same kind is not taken for it.
    with pytest.raises(TransactionRefused), transaction() as writes:
        writes.save(Note(pk="1", sk="claim"), condition=Note.pk.does_not_exist())


def test_the_store_of_the_tests_gives_back_what_was_put(store):
    item = {
        "pk": "a",
        "sk": "b",
        "n": 1,
        "f": 1.5,
        "none": None,
        "list": [1, "x"],
        "map": {"k": True},
        "set": {"x", "y"},
    }
    store.put("CONSOLE", item)
    assert store.get("CONSOLE", pk="a", sk="b") == item
    store.update("CONSOLE", {"pk": "a", "sk": "b"}, n="seven")
    store.delete("CONSOLE", pk="no", sk="such")
    assert store.raw("CONSOLE", pk="a", sk="b")["n"] == {"S": "seven"}
    store.empty()
    assert store.all("CONSOLE") == []


def _send(endpoint: str, path: str = "/", method: str = "POST", **headers: str) -> int:
    request = urllib.request.Request(endpoint + path, data=b"{}" if method == "POST" else None, method=method)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert json.loads(answer.read()) is not None
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.fixture(scope="module")
def endpoint(request) -> Iterator[str]:
    """Of the embedded server, whatever the other tests run on; moto allows one at a time in a process."""
    if request.config.getoption("--dynoxide"):
        with EmbeddedDynamoDB() as embedded:
            yield embedded.endpoint
    else:
        yield request.getfixturevalue("dynamodb").endpoint


LIST_TABLES = {"X_Amz_Target": "DynamoDB_20120810.ListTables", "Content_Type": "application/x-amz-json-1.0"}


def test_calls_of_dynamodb_and_of_its_streams_are_served(endpoint):
    assert _send(endpoint, **LIST_TABLES) == 200
    assert _send(endpoint, **LIST_TABLES | {"X_Amz_Target": "DynamoDBStreams_20120810.ListStreams"}) == 200


@pytest.mark.parametrize("path", ["/", "/moto-api/", "/moto-api/reset", "/some-bucket/key"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_other_service_is_served(endpoint, path, method):
    assert _send(endpoint, path, method) == 400


def test_a_web_page_cannot_call_it(endpoint):
    assert _send(endpoint, **LIST_TABLES, Origin="https://evil.example") == 400
    assert _send(endpoint, method="OPTIONS", Origin="https://evil.example") == 400


def test_stop_without_start_does_nothing():
    EmbeddedDynamoDB().stop()


def test_connections_are_kept_open(endpoint):
    connection = http.client.HTTPConnection(endpoint.partition("//")[2])
    headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    sockets = set()
    for _ in range(3):
        connection.request("POST", "/", body=b"{}", headers=headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"TableNames": []}')
        sockets.add(connection.sock)
    assert len(sockets) == 1
    assert None not in sockets


def test_a_connection_that_nobody_uses_ends_without_a_word(endpoint, monkeypatch, capfd):
    monkeypatch.setattr("demo.embedded._RequestHandler.timeout", 0.05)
    address = urllib.parse.urlsplit(endpoint)
    with socket.create_connection((address.hostname, address.port), timeout=10) as silent:
        assert silent.recv(1) == b""
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("headers", [{"Content-Length": "many"}, {"Transfer-Encoding": "chunked"}])
def test_a_body_of_unknown_length_is_refused(endpoint, headers):
    connection = http.client.HTTPConnection(endpoint.partition("//")[2])
    connection.putrequest("POST", "/")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.putheader("X-Amz-Target", LIST_TABLES["X_Amz_Target"])
    connection.endheaders(b"POST / HTTP/1.1\r\n\r\n")
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Connection")) == (400, "close")


@pytest.mark.slow
def test_who_waits_for_a_message_holds_up_nobody_and_gets_it_when_it_comes(endpoint):
    sqs = plain_client(endpoint, "sqs")
    url = sqs.create_queue(QueueName="long-poll")["QueueUrl"]
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        poll = pool.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=10)
        time.sleep(0.3)
        assert _send(endpoint, **LIST_TABLES) == 200
        sqs.send_message(QueueUrl=url, MessageBody="hello")
        [message] = poll.result()["Messages"]
        assert message["Body"] == "hello"
        assert time.monotonic() - began < 5
    began = time.monotonic()
    assert not sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
    assert time.monotonic() - began >= 1
    sqs.delete_queue(QueueUrl=url)
