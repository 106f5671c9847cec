"""The stand-in for providers: what it refuses, and that it keeps what is sent at once by many."""

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from demo.provider import ACCOUNT, SENDGRID_KEY, TEMPLATE, TOKEN, DemoProvider

MESSAGES = f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json"
FORM = {"To": "+447700900123", "From": "+447700900001", "Body": "Hello"}


@pytest.fixture
def demo():
    with DemoProvider() as provider:
        yield provider


@pytest.mark.parametrize("path", [MESSAGES, f"/v1/Content/{TEMPLATE}", "/v3/messages", "/v3/mail/send", "/"])
def test_it_wants_credentials_and_no_pages_of_browsers(demo, path):
    basic = base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
    right = f"Bearer {SENDGRID_KEY}" if path.startswith("/v3") else f"Basic {basic}"
    url = demo.endpoint + path
    for headers in ({}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer x"}):
        assert requests.post(url, FORM, headers=headers, timeout=5).status_code == 401
    from_a_page = requests.post(url, FORM, headers={"Authorization": right, "Origin": "http://evil.test"}, timeout=5)
    assert from_a_page.status_code == 403
    assert not demo.messages()


def test_it_lists_page_by_page_the_newest_first(demo):
    auth = (ACCOUNT, TOKEN)
    for number in range(5):
        answer = requests.post(demo.endpoint + MESSAGES, FORM | {"Body": f"No. {number}"}, auth=auth, timeout=5)
        assert answer.status_code == 201
    found, path = [], f"{MESSAGES}?PageSize=2"
    while path:
        page = requests.get(demo.endpoint + path, auth=auth, timeout=5).json()
        found.append([each["body"] for each in page["messages"]])
        path = page["next_page_uri"]
    assert found == [["No. 4", "No. 3"], ["No. 2", "No. 1"], ["No. 0"]]
    assert page["messages"][0]["date_sent"].endswith("+0000")


@pytest.mark.parametrize(
    ("changed", "code"), [({"Body": ""}, 21602), ({"Body": "a" * 1_601}, 21617), ({"To": "Sam"}, 21211)]
)
def test_it_refuses_what_the_provider_refuses(demo, changed, code):
    answer = requests.post(demo.endpoint + MESSAGES, FORM | changed, auth=(ACCOUNT, TOKEN), timeout=5)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not demo.messages()


def test_many_at_once_are_all_kept(demo):
    def send(number: int) -> str:
        form = FORM | {"Body": f"No. {number}"}
        return requests.post(demo.endpoint + MESSAGES, form, auth=(ACCOUNT, TOKEN), timeout=10).json()["sid"]

    with ThreadPoolExecutor(8) as pool:
        sids = set(pool.map(send, range(40)))
    assert {each["id"] for each in demo.messages()} == sids
    assert len(sids) == 40
