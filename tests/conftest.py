"""Fixtures of the whole suite: the DynamoDB that tests run against, and Django without a SQL database."""

import gc
import threading
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.template import Template
from django.test.utils import _TestState

from console.schema.tables import TABLES
from demo import dynoxide
from demo.server_process import Unavailable
from tests.dynamodb import Store

# Machines differ in speed: no example is failed for its time. The same examples each time, so that a change is judged
# by itself; `--hypothesis-profile=explore` draws new ones.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile("suite")

# `pytest` without arguments. Whoever names tests, or gives an expression of markers, gets what they ask for.
DAILY = "not slow and not crawl and not browser"
# What the tests of a folder are.
FOLDERS = {"browser": "browser", "crawl": "crawl"}
# Threads in which the console makes calls at the same time, for one request.
OWN_THREADS = "dynamodb"
STORE_FIXTURES = {"store", "bare_store", "dynamodb"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--dynoxide",
        action="store_true",
        help="run the store-facing tests on dynoxide instead of moto",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Without arguments only what is quick is run."""
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    if not named and not any(each.startswith("-m") for each in config.invocation_params.args):
        config.option.markexpr = DAILY


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses a store or a browser, and skip what the chosen store cannot show."""
    on_dynoxide = config.getoption("--dynoxide")
    items.sort(key=_places(items).__getitem__)
    for item in items:
        if folder := _folder(item):
            item.add_marker(FOLDERS[folder])
        if STORE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.store)
        if item.get_closest_marker("dynoxide_only") and not on_dynoxide:
            item.add_marker(pytest.mark.skip(reason="needs dynoxide: run with --dynoxide"))


def _places(items: list[pytest.Item]) -> dict[pytest.Item, float]:
    """Where each test stands in the run. Whole files go to a process each.

    Those that take longest come first, and one that waits for a browser beside one that keeps the processor busy.
    """
    files = {folder: list(dict.fromkeys(each.path for each in items if _folder(each) == folder)) for folder in FOLDERS}
    place = {path: (at + 0.5) / len(found) for found in files.values() for at, path in enumerate(found)}
    return {each: place.get(each.path, 1.0) for each in items}


def _folder(item: pytest.Item) -> str:
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return folder if folder in FOLDERS else ""


@pytest.fixture(scope="session", autouse=True)
def _seldom_collected() -> Iterator[None]:
    """Not going over all that libraries, and a store in memory, keep for good.

    A ninth of the daily suite takes 35.6 s of processor time without it, 31.3 s with it (medians of three runs).
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    yield
    gc.set_threshold(*thresholds)
    # At the end pytest collects five times, which would take minutes with all that is kept.
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _plainly_rendered(django_test_environment: None) -> None:
    """Without Django's note of each template rendered, with a copy of its context: no test asks for these."""
    Template._render = _TestState.saved_data.template_render  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def dynamodb(request: pytest.FixtureRequest) -> Iterator[Store]:
    """The session's DynamoDB, without tables: moto in this process, or dynoxide where asked for."""
    if request.config.getoption("--dynoxide"):
        server = dynoxide.Dynoxide()
        try:
            endpoint = server.start()
        except Unavailable as unavailable:
            pytest.skip(f"dynoxide cannot run here: {unavailable}")
        yield Store(endpoint)
        server.stop()
    else:
        from demo.direct import handed_over
        from demo.embedded import EmbeddedDynamoDB

        with EmbeddedDynamoDB() as embedded, handed_over(embedded, is_apart=_is_raced):
            yield Store(embedded.endpoint, embedded=True)


def _is_raced() -> bool:
    """Whether this is a thread that a test (or a server that a test runs) started.

    These keep to the sockets: the switches from one to another there are what races are made of.
    """
    thread = threading.current_thread()
    return thread is not threading.main_thread() and not thread.name.startswith(OWN_THREADS)


@pytest.fixture(scope="session")
def _all_tables(dynamodb: Store) -> Store:
    dynamodb.create_tables()
    return dynamodb


@pytest.fixture
def store(_all_tables: Store, settings) -> Store:
    """All tables of the registry, empty, and the console pointed at them. TTL is not switched on: nothing expires."""
    settings.DYNAMODB_ENDPOINT = _all_tables.endpoint
    _all_tables.close_gaps()
    _forget_what_is_there()
    # A test ends the processes that it starts.
    _all_tables.empty(alone=True)
    return _all_tables


@pytest.fixture
def bare_store(dynamodb: Store, settings) -> Iterator[Store]:
    """A DynamoDB without any table, under names of its own; `create_tables` makes those that a test wants."""
    settings.DYNAMODB_ENDPOINT = dynamodb.endpoint
    suffix = uuid.uuid4().hex[:8]
    settings.TABLE_NAMES = {key: f"{spec.base}-{suffix}" for key, spec in TABLES.items()}
    dynamodb.close_gaps()
    _forget_what_is_there()
    yield dynamodb
    dynamodb.drop_tables()
    _forget_what_is_there()


@pytest.fixture
def fresh_store(bare_store: Store, settings) -> Iterator[Store]:
    """Tables that nothing was ever written to: the streams of `store` hold what other tests wrote. And no stage."""
    bare_store.create_tables()
    names = settings.TABLE_NAMES
    settings.TABLE_NAMES = {**names, "CONVERSATIONS_STAGE": ""}
    yield bare_store
    settings.TABLE_NAMES = names


@pytest.fixture(scope="session")
def _sqs_endpoint(dynamodb: Store) -> Iterator[str]:
    """SQS of the tests' own moto; beside dynoxide ElasticMQ, and where that is not to be had, a moto too."""
    from demo.embedded import EmbeddedDynamoDB
    from tests.elasticmq import ElasticMQ

    if dynamodb.embedded:
        yield dynamodb.endpoint
        return
    elasticmq = ElasticMQ()
    try:
        endpoint = elasticmq.start()
    except Unavailable as unavailable:
        warnings.warn(f"Queues are moto's, and not ElasticMQ's: {unavailable}", stacklevel=1)
        with EmbeddedDynamoDB() as embedded:
            yield embedded.endpoint
        return
    yield endpoint
    elasticmq.stop()


@pytest.fixture
def queue(store: Store, _sqs_endpoint: str, settings) -> Iterator[str]:
    """The address of a hand-off queue; the console is pointed at it. No queue outlives the test."""
    from console.store import queues

    settings.SQS_ENDPOINT = _sqs_endpoint
    url = queues.client().create_queue(QueueName="handoff", Attributes={"VisibilityTimeout": "3600"})["QueueUrl"]
    settings.HANDOFF_QUEUE_URL = url
    yield url
    for each in queues.client().list_queues().get("QueueUrls", ()):
        queues.client().delete_queue(QueueUrl=each)


@pytest.fixture
def transactional_db() -> None:
    """pytest-django's live_server asks for it; there is no SQL database."""


def _forget_what_is_there() -> None:
    """Which tables exist is remembered for a minute, counts and names for seconds; each test has its own."""
    from console import caching
    from console.store import presence
    from conversations.insight.facts import forget_marks
    from conversations.insight.writing import forget_seen

    presence.forget()
    caching.invalidate_all()
    forget_marks()
    forget_seen()
