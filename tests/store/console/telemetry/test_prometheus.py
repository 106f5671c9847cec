"""A real Prometheus scrapes the console and its work; its rules, alerts and the dashboard ask for what there is."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

from console import instrumentation
from tests.items import put_conversation
from tests.people import member, signed_in
from tests.queue import filled
from tests.store.console.telemetry.kit import CANARIES, EMAIL, PHONE, TOKEN, WORDS
from tests.store.console.test_deployment import DEPLOY, ROOT, environment, free_port, gunicorn
from tests.support.processes import ending

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
needs_prometheus = pytest.mark.skipif(
    PROMETHEUS is None or PROMTOOL is None, reason="needs prometheus (Debian: apt install prometheus)"
)
RULES, FOLDER = ("rules.yml", "alerts.yml"), DEPLOY / "prometheus"
DASHBOARD = DEPLOY / "grafana" / "console.json"
__all__ = ["environment"]


def promtool(*arguments: str) -> str:
    done = subprocess.run([str(PROMTOOL), *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_prometheus
def test_rules_alerts_and_configuration_are_valid(tmp_path):
    assert f"{len(recorded())} rules" in promtool("check", "rules", "rules.yml")
    assert f"{len(alerts())} rules" in promtool("check", "rules", "alerts.yml")
    promtool("check", "config", str(configured(tmp_path, ["console.example.com"], ["console.example.com:9101"])))


@pytest.mark.slow
@needs_prometheus
def test_alerts_are_raised_when_they_should_be_and_only_then():
    promtool("test", "rules", "tests.yml")


def recorded() -> set[str]:
    return set(re.findall(r"record: (\S+)", (FOLDER / "rules.yml").read_text()))


def alerts() -> list[str]:
    return re.findall(r"alert: (\S+)", (FOLDER / "alerts.yml").read_text())


def test_every_alert_is_tested_and_says_how_bad_it_is_and_where_to_read_on():
    text, tests = (FOLDER / "alerts.yml").read_text(), (FOLDER / "tests.yml").read_text()
    headings = {each.lower() for each in re.findall(r"^### (\S+)$", (ROOT / "docs/monitoring.md").read_text(), re.M)}
    raised = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts", tests))
    for name in alerts():
        rule = text.partition(f"alert: {name}\n")[2].partition("- alert:")[0]
        assert re.search(r"severity: (page|ticket)\n", rule), name
        assert f"runbook: docs/monitoring.md#{name.lower()}" in rule
        assert name.lower() in headings, name
        assert name in raised, name
    assert len(headings & {each.lower() for each in alerts()}) == len(alerts())


def asked_for() -> dict[str, set[str]]:
    """The names that the rules and the dashboard ask for, by where they stand."""
    texts = {each: (FOLDER / each).read_text() for each in RULES}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    texts[DASHBOARD.name] = "\n".join(target["expr"] for panel in panels for target in panel["targets"])
    return {name: set(re.findall(r"\bconsole[_:][a-z0-9_:]+", text)) for name, text in texts.items()}


def test_the_dashboard_asks_for_what_is_recorded_and_has_each_panel_once():
    named = {each for names in asked_for().values() for each in names if ":" in each}
    assert named <= recorded()
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({each["id"] for each in panels}) == len({each["title"] for each in panels}) == len(panels)
    places = {(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels}
    assert len(places) == len(panels)


def configured(folder, web, work):
    """The configuration of `deploy/prometheus` with other targets, without TLS, and in a hurry."""
    written = (FOLDER / "prometheus.yml").read_text()
    (folder / "token").write_text(TOKEN)
    for each in RULES:
        shutil.copyfile(FOLDER / each, folder / each)
    for there, here in (
        ("[console-1.example.com, console-2.example.com]", json.dumps(web)),
        ("[console-1.example.com:9101, console-2.example.com:9101]", json.dumps(work)),
        ("/etc/prometheus/console-token", str(folder / "token")),
        ("scheme: https", "scheme: http"),
        ("30s", "1s"),
    ):
        assert there in written
        written = written.replace(there, here)
    (folder / "prometheus.yml").write_text(written)
    return folder / "prometheus.yml"


@contextmanager
def started(command, environment, folder, ready):
    with (folder / f"{command[-1].rpartition('/')[2]}.log").open("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        with ending(process):
            yield wait_for(ready, lambda: (log.flush(), log.seek(0), log.read())[2])


def wait_for(found, told=lambda: ""):
    """What `found` gives, as soon as it gives something."""
    last = None
    for _ in range(300):
        try:
            if last := found():
                return last
        except OSError as error:
            last = error
        time.sleep(0.1)
    raise AssertionError(f"{last}\n{told()}")


def fetched(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read().decode()


@pytest.mark.slow
@needs_prometheus
def test_prometheus_finds_what_rules_alerts_and_dashboard_ask_for(store, environment, settings, tmp_path):
    filled(store)
    put_conversation(store, primary_channel=PHONE, conversation_id=WORDS[0], recipient_email=EMAIL)
    browser = signed_in(member())
    cookie = f"__Host-session={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    port, work_port = free_port(), free_port()
    common = {**environment, "METRICS_TOKEN": TOKEN, "LOG_FORMAT": "json", "PLAIN_HTTP": "true"}
    work = [sys.executable, "manage.py", "work"]
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with (
        gunicorn({**environment, "METRICS_TOKEN": TOKEN}) as web,
        started(
            work,
            {**common, "METRICS_PORT": str(work_port)},
            tmp_path,
            lambda: fetched(f"http://127.0.0.1:{work_port}/metrics", **bearer),
        ),
    ):
        for number in range(20):
            answer = web.ask("GET", f"/queue/?q={WORDS[1]}{number}", Cookie=cookie, X_Forwarded_Proto="https")
            assert answer.status == 200
            assert web.ask("GET", f"/{WORDS[2]}", X_Forwarded_Proto="https").status == 404
        targets = [f"127.0.0.1:{web.port}"], [f"127.0.0.1:{work_port}"]
        command = [str(PROMETHEUS), f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={tmp_path}/data"]
        command += ["--log.level=warn", f"--config.file={configured(tmp_path, *targets)}"]

        def ask(query):
            answer = fetched(f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}")
            return json.loads(answer)["data"]["result"]

        with started(command, os.environ, tmp_path, lambda: len(ask("up == 1")) == 2):
            # Of both workers of gunicorn together, whichever answers a scrape.
            [found] = wait_for(
                lambda: ask('sum(console_http_requests_total{job="console", route="/queue/", status="200"}) >= 20')
            )
            assert found["value"][1] == "20"
            unmatched = ask('console_http_requests_total{job="console", route="unmatched", status="404"}')
            assert [each["value"][1] for each in unmatched] == ["20"]
            assert wait_for(lambda: ask('console_worker_last_seen_timestamp_seconds{worker="indexer"}'))
            assert wait_for(lambda: ask("console:worker_silence_seconds"))
            firing = json.loads(fetched(f"http://127.0.0.1:{port}/api/v1/rules"))["data"]["groups"]
            assert {rule["health"] for group in firing for rule in group["rules"]} == {"ok"}
            # Without queues there are none to tell of. What could not be read is read again, a while later.
            wanted = {name for names in asked_for().values() for name in names if ":" not in name}
            wanted -= {"console_sqs_messages"}
            seen = 'count by (__name__) ({__name__=~"console_.+"})'
            wait_for(lambda: wanted <= {each["metric"]["__name__"] for each in ask(seen)}, lambda: f"of {wanted}")
        scraped = [fetched(f"http://127.0.0.1:{web.port}/metrics", **bearer)]
        scraped.append(fetched(f"http://127.0.0.1:{work_port}/metrics", **bearer))
    assert not [canary for canary in CANARIES for text in scraped if canary.lower() in text.lower()]
    there = set(re.findall(r"^(console_\w+?)(?:\{| )", "\n".join(scraped), re.MULTILINE))
    assert all(each._name in str(there) for each in (instrumentation.HTTP_REQUESTS, instrumentation.DYNAMODB_CALLS))
