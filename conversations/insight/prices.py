"""The cost of an AI model's tokens in US dollars: prices of the library genai-prices, and those of INSIGHT_PRICES.

The library's prices are part of its package and change with its version. Nothing is fetched. It knows models by their
providers' names for them; a company's deployments have names of their own, which INSIGHT_PRICES can price.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from genai_prices.data import providers
from genai_prices.data_snapshot import find_provider_by_id
from genai_prices.types import ModelInfo, Provider, TieredPrices

# No model has a longer name. Names are untrusted input, so longer ones are never looked up.
LONGEST_NAME = 200
# Prices cached by a process, each of a model and a day.
REMEMBERED = 4096
# If a price depends on the time of day, the price at noon applies to the whole day.
_NOON = time(12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The number of tokens a model read and wrote. `cached` are those of `input` read from its cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.input + other.input, self.output + other.output, self.cached + other.cached)


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """US dollars for a million tokens of each kind."""

    input: Decimal
    output: Decimal
    cached: Decimal

    def of(self, tokens: Tokens) -> Decimal:
        """Return what these tokens cost in US dollars."""
        cached = min(tokens.cached, tokens.input)
        millionths = (tokens.input - cached) * self.input + cached * self.cached + tokens.output * self.output
        return millionths.scaleb(-6)


def cost(model: str, tokens: Tokens, day: date) -> Decimal | None:
    """Return what tokens cost on a day, in US dollars; None for a model without a known price. Never raises.

    Covers tokens only, not requests, searches or images. Where the price rises with the length of a prompt, the base
    price is used, as sums do not contain the length of each prompt: the result is the least it can have cost.
    """
    price = price_of(model, day)
    return None if price is None else price.of(tokens)


def price_of(model: str, day: date) -> TokenPrice | None:
    """Return the price of a model's tokens on a day: from INSIGHT_PRICES, else from the library; None for neither."""
    return _price_of(model[: LONGEST_NAME + 1].strip().lower(), day, settings.INSIGHT_PRICES)


@lru_cache(maxsize=REMEMBERED)
def _price_of(name: str, day: date, overrides: str) -> TokenPrice | None:
    if not name or len(name) > LONGEST_NAME:
        return None
    holding = (each for each in parse_overrides(overrides) if each.holds_for(name, day))
    own = max(holding, key=PriceOverride.rank, default=None)
    return own.price if own is not None else _listed_price(name, day)


# --- The library's ----------------------------------------------------------------------------------------------------


def _listed_price(name: str, day: date) -> TokenPrice | None:
    found = next(_models_named(name), None)
    if found is None:
        return None
    listed = found.get_prices(datetime.combine(day, _NOON))
    read, written, cached = (_base(each) for each in (listed.input_mtok, listed.output_mtok, listed.cache_read_mtok))
    if read is None:
        # A price of images, speech or requests, not of tokens.
        return None
    return TokenPrice(read, written or Decimal(0), read if cached is None else cached)


def _models_named(name: str) -> Iterator[ModelInfo]:
    """Yield the models that a name can mean, likeliest first.

    Names are plain (`gpt-4o-mini`), prefixed with a provider (`openai/gpt-4o`, `azure/gpt-4o`), or Amazon Bedrock ids
    (`eu.anthropic.claude-3-haiku-20240307-v1:0`, or such an id at the end of an ARN). Ask providers one by one: the
    library's own look-up by name caches every name forever.
    """
    given, slash, bare = name.rpartition("/")
    bedrock = find_provider_by_id(providers, "aws")
    asked: list[tuple[Provider | None, str]] = [(_maker_of(name), name)]
    if slash:
        asked += [(find_provider_by_id(providers, given.partition("/")[0]), name.partition("/")[2])]
        asked += [(_maker_of(bare), bare)]
    if "." in bare:
        asked += [(bedrock, bare)]
    for provider, wanted in asked:
        if provider is not None and (found := provider.find_model(wanted, all_providers=providers)) is not None:
            yield found


def _maker_of(name: str) -> Provider | None:
    """Return the provider whose naming pattern matches."""
    return next((each for each in providers if each.model_match is not None and each.model_match.is_match(name)), None)


def _base(price: Decimal | TieredPrices | None) -> Decimal | None:
    return price.base if isinstance(price, TieredPrices) else price


# --- INSIGHT_PRICES ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PriceOverride:
    """A price from a day on, for one model or, with `*` at the end, all models with that prefix."""

    model: str
    since: date
    price: TokenPrice

    def holds_for(self, name: str, day: date) -> bool:
        """Return whether this price applies to a model on a day."""
        is_meant = name.startswith(self.model[:-1]) if self.model.endswith("*") else name == self.model
        return is_meant and self.since <= day

    def rank(self) -> tuple[date, bool, int]:
        """Return a sort key: of several prices that apply, the greatest wins: the latest, then the most specific."""
        return self.since, not self.model.endswith("*"), len(self.model)


_REQUIRED, _OPTIONAL = ("model", "from", "input", "output"), ("cached",)


@lru_cache(maxsize=4)
def parse_overrides(text: str) -> tuple[PriceOverride, ...]:
    """Read INSIGHT_PRICES. Raises `ImproperlyConfigured`, naming the wrong entry and the reason."""
    return tuple(_own_price(where, entry) for where, entry in _entries(text))


def problems_of_prices(text: str) -> Iterator[str]:
    """Yield every problem of INSIGHT_PRICES: for each unreadable entry, the reason."""
    try:
        entries = _entries(text)
    except ImproperlyConfigured as error:
        yield str(error)
        return
    for where, entry in entries:
        try:
            _own_price(where, entry)
        except ImproperlyConfigured as error:
            yield str(error)


def _entries(text: str) -> list[tuple[str, Any]]:
    """Return the entries, each with its position as text."""
    try:
        entries = json.loads(text, parse_float=Decimal) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise ImproperlyConfigured(f"INSIGHT_PRICES is not JSON: {error}.") from error
    if not isinstance(entries, list):
        raise ImproperlyConfigured("INSIGHT_PRICES must be a JSON list of prices.")
    return [(f"INSIGHT_PRICES, entry {number}", each) for number, each in enumerate(entries, 1)]


def _own_price(where: str, entry: Any) -> PriceOverride:
    if not isinstance(entry, dict):
        raise ImproperlyConfigured(f"{where}: a price is an object with {', '.join(_REQUIRED)}.")
    missing = [name for name in _REQUIRED if name not in entry]
    unknown = sorted(set(entry) - {*_REQUIRED, *_OPTIONAL})
    if missing or unknown:
        wrong = f"{', '.join(missing)} is missing" if missing else f"{', '.join(unknown)} is not known"
        raise ImproperlyConfigured(f"{where}: {wrong}.")
    model = entry["model"].strip().lower() if isinstance(entry["model"], str) else ""
    if not model or len(model) > LONGEST_NAME or "*" in model[:-1]:
        raise ImproperlyConfigured(f"{where}: model must be a model's name; a * may stand at its end only.")
    try:
        since = date.fromisoformat(str(entry["from"]))
    except ValueError as error:
        raise ImproperlyConfigured(f"{where}: from must be a day such as 2026-01-31.") from error
    read, written = _dollars(where, "input", entry["input"]), _dollars(where, "output", entry["output"])
    cached = _dollars(where, "cached", entry["cached"]) if "cached" in entry else read
    return PriceOverride(model, since, TokenPrice(read, written, cached))


def _dollars(where: str, name: str, value: Any) -> Decimal:
    """Read a price in dollars for a million tokens."""
    try:
        amount = Decimal(value.strip() if isinstance(value, str) else value) if not isinstance(value, bool) else None
    except (InvalidOperation, TypeError, ValueError):
        amount = None
    if amount is None or not amount.is_finite() or not 0 <= amount < 1_000_000:
        raise ImproperlyConfigured(f'{where}: {name} must be US dollars for a million tokens, such as "2.50".')
    return amount
