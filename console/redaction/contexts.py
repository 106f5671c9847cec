"""Order and tracking numbers that are known by the words before them."""

import re
from collections.abc import Iterator

from console.redaction.claims import Claim
from console.redaction.masks import FULL_MASK, digits_of, mask_order

_FILLER = (
    r"(?i:[\s:#=№°./\-*_]|(?<![a-z])(?:no|nr|num|number|numbers|nummer|numero|número|numéro|id|ids|ref|reference|is|was"
    r"|are|de|n)(?![a-z])){1,12}"
)
_ORDER_STEMS = ("order", "ordin", "bestell", "auftrag", "pedido", "commande", "encomenda", "zamowieni", "zamówieni")
_ORDER_WORD = (
    r"(?i:(?<![a-z])(?:orders?|bestell(?:ung(?:en)?|nummer|nr|ing(?:en)?)|auftrag(?:snummer)?|pedidos?|commandes?"
    r"|ordin[ei]|encomendas?|zam[oó]wieni[ea])(?![a-z]))"
)
# 8315, WC-20155, INV/9104/62605, GB-36954-A, 030-3177705-9234649
_ORDER_ID = (
    r"(?:[A-Za-z]{1,6}[\-/]?)?[0-9][A-Za-z0-9]{0,40}"
    r"(?:[\-/](?:[A-Za-z]?[0-9][A-Za-z0-9]{0,40}|[A-Za-z]{1,2}(?![A-Za-z]))){0,6}"
)
_ORDERS = re.compile(
    rf"{_ORDER_WORD}{_FILLER}"
    rf"(?P<ids>{_ORDER_ID}(?:(?:,|[ ](?:and|und|et|y|e|en|&)(?![a-z])){{1,2}}[ ]?\#?{_ORDER_ID})*)"
)
_ONE_ORDER = re.compile(_ORDER_ID)
_FEWEST_ORDER_DIGITS = 3
# "#86125" alone; neither TS#171… nor &#64; nor a colour such as #a1b2c3.
_HASH_NUMBER = re.compile(r"#(?<![\w&#].)(?P<id>[0-9]{5,})(?![0-9A-Za-z\-])")

_TRACKING_STEMS = (
    *("track", "trk", "awb", "waybill", "parcel", "shipment", "consign", "package"),
    *("sendung", "paket", "pakket", "colis", "suivi", "paquete", "env", "seguimiento", "pacco"),
)
_TRACKING_WORD = (
    r"(?i:(?<![a-z])(?:track(?:ing)?|waybill|awb|parcels?|shipment|consignment|sendung(?:snummer)?|paket"
    r"|paquete|colis|env[ií]o|seguimiento|suivi|pacco|package|pakket|trk(?:nbr)?)(?![a-z]))"
)
# In one piece, or in groups of digits and capitals: D 100 113 459 830 10
_TRACKING_ID = (
    r"[A-Za-z0-9]{1,64}(?:-[A-Za-z0-9]{1,40}){0,6}"
    r"(?:[ ](?:[0-9]{1,40}[A-Z]{0,3}|[A-Z]{1,3}[0-9]{0,40})(?![A-Za-z0-9])){0,16}"
)
_TRACKING = re.compile(rf"{_TRACKING_WORD}{_FILLER}(?P<id>{_TRACKING_ID})")
_FEWEST_TRACKING_DIGITS = 5


def numbers_behind_words(text: str) -> Iterator[Claim]:
    """Mask tracking numbers behind "tracking", "parcel" …, and order numbers, one or a list, behind "order" …"""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals are one character and two in lower case
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    claims = [*_tracking_numbers(text, lowered), *_order_numbers(text, lowered)]
    claims.sort()
    end = 0
    for claim in claims:
        if claim.start >= end:
            yield claim
            end = claim.end


def hash_numbers(text: str) -> Iterator[Claim]:
    """Mask `#86125`: how shops write an order."""
    return (Claim(*found.span("id"), mask_order(found["id"])) for found in _HASH_NUMBER.finditer(text))


def _order_numbers(text: str, lowered: str) -> Iterator[Claim]:
    for found in _behind(_ORDER_STEMS, _ORDERS, text, lowered):
        for order in _ONE_ORDER.finditer(text, *found.span("ids")):
            number = order.group()
            if len(number) >= _FEWEST_ORDER_DIGITS and len(digits_of(number)) >= _FEWEST_ORDER_DIGITS:
                yield Claim(*order.span(), mask_order(number))


def _tracking_numbers(text: str, lowered: str) -> Iterator[Claim]:
    for found in _behind(_TRACKING_STEMS, _TRACKING, text, lowered):
        if len(digits_of(found["id"])) >= _FEWEST_TRACKING_DIGITS:
            yield Claim(*found.span("id"), FULL_MASK)


def _behind(stems: tuple[str, ...], pattern: re.Pattern[str], text: str, lowered: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begins with one of the stems; looking for stems first is many times faster."""
    starts: list[int] = []
    for stem in stems:
        start = lowered.find(stem)
        while start >= 0:
            starts.append(start)
            start = lowered.find(stem, start + len(stem))
    end = 0
    for start in sorted(starts):
        found = pattern.match(text, start) if start >= end else None
        if found:
            yield found
            end = found.end()
