"""What tokens cost: the library's prices by every usual spelling of a model, and prices of one's own by date."""

import json
import re
import subprocess
import sys
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.insight.prices import LONGEST_NAME, Tokens, cost, price_of
from tests.refusals import refused

DAY = date(2026, 1, 15)
TOKENS = Tokens(input=1_000_000, output=1_000_000)
COUNTS = st.integers(0, 10**9)
KNOWN = ["gpt-4o-mini", "gpt-4o-2024-08-06", "claude-3-5-sonnet-20241022", "gemini-2.5-pro"]


def overrides(settings, *entries):
    settings.INSIGHT_PRICES = json.dumps(entries)


def entry(**more):
    return {"model": "house-model", "from": "2026-01-01", "input": "2", "output": "8"} | more


@pytest.mark.parametrize(
    ("spelled", "model"),
    [
        ("GPT-4o-mini", "gpt-4o-mini"),
        (" gpt-4o-mini ", "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("azure/gpt-4o-mini", "gpt-4o-mini"),
        ("openrouter/openai/gpt-4o-mini", "gpt-4o-mini"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gpt-35-turbo", "gpt-3.5-turbo"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("anthropic/claude-3-5-sonnet-20241022", "claude-3-5-sonnet-20241022"),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet-20240620"),
        ("eu.anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet-20240620"),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet-20240620"),
        (
            "arn:aws:bedrock:eu-west-2:111122223333:inference-profile/eu.anthropic.claude-3-5-sonnet-20240620-v1:0",
            "claude-3-5-sonnet-20240620",
        ),
    ],
)
def test_a_model_costs_the_same_however_it_is_spelled(spelled, model):
    assert cost(spelled, TOKENS, DAY) == cost(model, TOKENS, DAY) > 0


@pytest.mark.parametrize(
    "model", ["", " ", "/", ".", "our-deployment", "gpt-4o-production", "ft:gpt-4o-mini:acme::x", "gpt-4o" * 10_000]
)
def test_what_nobody_prices_is_unknown_and_not_free(model):
    assert cost(model, TOKENS, DAY) is None


def test_a_model_without_a_price_of_tokens_is_unknown():
    assert cost("whisper-1", TOKENS, DAY) is None


@given(st.text(st.characters(), max_size=2 * LONGEST_NAME), st.dates())
def test_no_name_and_no_day_breaks_it(model, day):
    found = cost(model, TOKENS, day)
    assert found is None or found >= 0


@given(st.sampled_from(KNOWN), st.text(st.characters(), max_size=20), st.text(st.characters(), max_size=20))
def test_junk_around_a_known_name_breaks_nothing(model, before, after):
    found = cost(f"{before}{model}{after}", TOKENS, DAY)
    assert found is None or found >= 0


@given(st.sampled_from(KNOWN), COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_sum_of_tokens_costs_the_sum(model, read, written, more_read, more_written):
    one, other = Tokens(read, written, read // 3), Tokens(more_read, more_written, more_read // 2)
    assert cost(model, one + other, DAY) == cost(model, one, DAY) + cost(model, other, DAY)


@given(st.sampled_from(KNOWN), COUNTS, COUNTS, st.integers(0, 2 * 10**9))
def test_cached_tokens_never_cost_more_than_others(model, read, written, cached):
    assert 0 <= cost(model, Tokens(read, written, cached), DAY) <= cost(model, Tokens(read, written), DAY)


def test_long_prompts_cost_the_base_price():
    price = price_of("gemini-2.5-pro", DAY)
    assert cost("gemini-2.5-pro", Tokens(input=10_000_000), DAY) == 10 * price.input


def test_what_the_library_lists_is_dollars_for_a_million_tokens():
    assert cost("gpt-4o", Tokens(input=1_000_000), DAY) == Decimal("2.5")
    assert cost("gpt-4o", Tokens(output=100), DAY) == Decimal("0.001")
    assert cost("gpt-4o", Tokens(input=1_000_000, cached=1_000_000), DAY) == Decimal("1.25")


# --- Prices of one's own ----------------------------------------------------------------------------------------------


def test_own_prices_hold_from_their_day_on_and_the_latest_counts(settings):
    overrides(
        settings,
        entry(**{"from": "2026-03-01"}, input="3"),
        entry(**{"from": "2026-01-01"}, input="1"),
        entry(**{"from": "2026-02-01"}, input="2"),
    )
    days = (date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1), date(2027, 1, 1))
    found = [cost("house-model", Tokens(input=1_000_000), day) for day in days]
    assert found == [None, 1, 1, 2, 3]


def test_an_own_price_replaces_the_librarys_from_its_day_on(settings):
    listed = cost("gpt-4o", TOKENS, DAY)
    overrides(settings, entry(model="GPT-4o", input="1", output="1"))
    assert cost("gpt-4o", TOKENS, date(2025, 12, 31)) == listed
    assert cost("gpt-4o", TOKENS, DAY) == 2
    assert cost("gpt-4o-mini", TOKENS, DAY) == cost("gpt-4o-mini", TOKENS, date(2025, 12, 31))


def test_a_star_prices_all_names_that_begin_so(settings):
    overrides(settings, entry(model="support-*", input="1"), entry(model="support-eu", input="5"))
    a_million = Tokens(input=1_000_000)
    assert [cost(each, a_million, DAY) for each in ("support-us", "support-", "support-eu", "support")] == [
        1,
        1,
        5,
        None,
    ]


def test_cached_tokens_cost_what_input_costs_unless_said(settings):
    overrides(settings, entry(), entry(model="other", cached="0.5"))
    cached = Tokens(input=1_000_000, cached=1_000_000)
    assert (cost("house-model", cached, DAY), cost("other", cached, DAY)) == (2, Decimal("0.5"))


def test_numbers_of_json_are_exact(settings):
    settings.INSIGHT_PRICES = '[{"model": "m", "from": "2026-01-01", "input": 0.1, "output": 1}]'
    assert cost("m", Tokens(input=3_000_000), DAY) == Decimal("0.3")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "not JSON"),
        ("{}", "must be a JSON list"),
        ("[1]", "entry 1: a price is an object"),
        (json.dumps([entry(), {"model": "m"}]), "entry 2: from, input, output is missing"),
        (json.dumps([entry(ouput="1")]), "ouput is not known"),
        (json.dumps([entry(model=" ")]), "model must be"),
        (json.dumps([entry(model=4)]), "model must be"),
        (json.dumps([entry(model="gpt-*-mini")]), "model must be"),
        (json.dumps([entry(**{"from": "January"})]), "from must be a day"),
        (json.dumps([entry(**{"from": None})]), "from must be a day"),
        *((json.dumps([entry(input=each)]), "input must be US dollars") for each in ("", "free", "-1", True, None, [])),
        ('[{"model": "m", "from": "2026-01-01", "input": NaN, "output": "1"}]', "input must be US dollars"),
        (json.dumps([entry(output="Infinity")]), "output must be US dollars"),
        (json.dumps([entry(cached="1e30")]), "cached must be US dollars"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_start_up_refuses_prices_that_cannot_be_read(settings, text, words):
    assert refused() == ""
    settings.INSIGHT_PRICES = text
    assert re.fullmatch(f"conversations.E009: INSIGHT_PRICES.*{words}.*", refused())


def test_each_price_that_cannot_be_read_is_named(settings):
    overrides(settings, entry(model=4), entry(), entry(output="free"))
    first, second = refused().splitlines()
    assert "entry 1: model must be" in first
    assert "entry 3: output must be" in second


# --- Nothing is fetched -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_prices_are_never_fetched():
    """Neither importing nor asking opens a connection, and nothing keeps prices up to date in the background."""
    code = """
import socket, threading
def refuse(*_, **__): raise AssertionError("a connection")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from django.conf import settings
settings.configure(INSIGHT_PRICES="")
from datetime import date
from conversations.insight.prices import Tokens, cost
assert cost("gpt-4o", Tokens(input=1), date(2026, 1, 15)) > 0
assert cost("nobody-knows-it", Tokens(input=1), date(2026, 1, 15)) is None
assert threading.active_count() == 1, threading.enumerate()
from genai_prices.data_snapshot import get_snapshot
assert not get_snapshot().from_auto_update
"""
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stderr
