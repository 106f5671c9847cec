"""Order and tracking numbers that are known by the words before them."""

import re
from itertools import groupby
from operator import itemgetter

from console.redaction.masks import FULL_MASK, Claim, mask_order
from console.redaction.shapes import NUMBER_IN_GROUPS

# The patterns match text in lower case. Between the word and the number:
_FILLER = (
    r"(?:[\s:#=№°º./\-*_(\"'>]|</?[a-z]{1,10}>"
    # What stands for º when it is decoded is an o.
    r"|(?<![a-z])(?:n\.o|no|nr|num|núm|n|number|numbers|nummer|numer|numero|número|numéro|id|ids|ref|reference|code|codes"
    r"|kod|código|confirmation|is|was|are|ist|est|es|lautet|de|номер|số|mã|là)(?![a-z])|号码|号|編號|番号|番號|编号|號|是|为"
    r"|رقم|هو|नंबर|नम्बर|संख्या|번호|หมายเลข|เลขที่|αριθμός|מספר)"
)
# Or nothing at all: order48213, 订单48213
_BETWEEN = rf"(?:{_FILLER}{{1,12}}|(?=[0-9]{{5}}))"
_ORDER_STEMS = (
    *("best.-", "po ?#", "po ?n[oru]"),
    *("ord", "bestell", "beställ", "bestil", "auftrag", "pedido", "commande", "encomenda"),
    *("comand", "zamowieni", "zamówieni", "objedn", "rendel", "tilau", "sipari", "заказ", "замовл"),
    *("订单", "訂單", "单号", "單號", "注文", "주문", "طلب", "ऑर्डर", "आर्डर", "คำสั่งซื้อ", "ออเดอร์", "đơn", "đặt hàng"),
    *("pesanan", "παραγγελ", "הזמנ"),
)
_ORDER_WORD = (
    r"(?<![a-z])(?:orders?(?:id|no|nr|number)?|ordrer?|ordin[ei]|best(?:ell|äll|il)[a-zäöüß]{0,12}(?:-nr)?"
    r"|auftr(?:ag|ags)(?:nummer|nr)?|pedidos?|commandes?|encomendas?|comand[aăeiz]{1,3}|zam[oó]wieni[ea]"
    r"|best\.(?=-(?:nr|no))|po(?=[ ]?(?:#|n(?:o|r|um)))"
    r"|objedn[aáeéiívkuy]{2,6}|rendelés[a-záéíóöőúüű]{0,10}|tilau[a-zäö]{1,8}|sipari[sş][a-zığüşöç]{0,6}"
    r"|заказ[а-я]{0,3}|замовлення|订单|訂單|单号|單號|注文|주문[가-힣]{0,4}|طلب[ء-ي]{0,4}|[ऑआ]र्डर|คำสั่งซื้อ|ออเดอร์"
    r"|đơn(?: hàng)?|đặt hàng|pesanan|παραγγελ[α-ωά-ώ]{1,4}|הזמנ[א-ת]{1,3}|ord)(?![a-z])"
)
# 8315, WC-20155, INV/9104/62605, GB-36954-A, 030-3177705-9234649; 07924 129923 where no path is before it
_ORDER_ID = (
    rf"(?:(?<!/){NUMBER_IN_GROUPS}|(?:[a-z]{{1,6}}[\-/]?)?[0-9][a-z0-9]{{0,40}}"
    r"(?:[\-/](?:[a-z]?[0-9][a-z0-9]{0,40}|[a-z]{1,2}(?![a-z]))){0,6})"
)
# A comma or a word between two of them.
_AND = r"(?:,|[ ](?:and|und|et|y|e|en|i|og|och|&)(?![a-z])){1,2}[ ]?\#?"
_list_of_orders = re.compile(rf"{_ORDER_ID}(?:{_AND}{_ORDER_ID})*").match
_orders = re.compile(_ORDER_ID).finditer
# Three would be the status in "POST /orders 201", and the mask of a shorter number would show it all.
_has_order_digits = re.compile(r"(?:[^0-9]*+[0-9]){4}").match
# "#86125" or "#JR08091" alone; neither TS#171… nor &#64; nor a colour such as #a1b2c3 or #AB12345F.
_HASH_NUMBER = re.compile(r"#(?<![\w&#].)(?P<id>[A-Z]{0,4}[0-9]{5,})(?![0-9A-Za-z\-])")

_TRACKING_STEMS = (
    *("track", "trk", "awb", "waybill", "parcel", "shipment", "consign", "package", "sendung", "paket", "pakket"),
    *("colis", "suivi", "paquete", "env", "seguimiento", "pacco", "rastre", "spedizion", "przesyłk", "sporing"),
    *("трек", "运单", "快递"),
)
_TRACKING_WORD = (
    r"(?<![a-z])(?:track(?:ing)?(?:nummer|number|code|id|no|nr)?(?:[ ](?:&|and)[ ]trace)?|waybill|awb|parcels?|shipment"
    r"|consignment(?: note)?|sendung(?:s(?:nummer|nr|verfolgung))?|paket(?:nummer)?|paquete|colis|env[ií]o|seguimiento"
    r"|suivi|pacco|package|pakket|trk(?:nbr)?|rastre(?:io|amento)|spedizione|przesyłk[aię]|sporing|трек|运单|快递)(?![a-z])"
)
_and_another = re.compile(rf"{_AND}(?=[a-z0-9])").match
# In one piece, or in groups of digits and capitals: D 100 113 459 830 10
_tracking_id = re.compile(
    r"[A-Za-z0-9]{1,64}(?:-[A-Za-z0-9]{1,40}){0,6}"
    r"(?:[ ](?:[0-9]{1,40}[A-Z]{0,3}|[A-Z]{1,3}[0-9]{0,40})(?![A-Za-z0-9])){0,16}"
).match
# The beginnings of all these words, by their first letter; to look at the beginnings of words only is far faster.
_BEGINNINGS = "|".join(
    f"{first}(?:{'|'.join(stem[1:] for stem in stems)})"
    for first, stems in groupby(sorted((*_ORDER_STEMS, *_TRACKING_STEMS)), key=itemgetter(0))
)
_NO_LETTERS = r"[\x00-`{-\x7f]*+"
# Text up to the next word that begins so.
_up_to_a_word = re.compile(rf"{_NO_LETTERS}(?:(?!{_BEGINNINGS})(?:[a-z]++|[^\x00-\x7f]){_NO_LETTERS})*").match
# One of the words, and what is between it and the number.
_word = re.compile(
    rf"(?P<orders>{_ORDER_WORD}{_BETWEEN}(?=(?:[a-z]{{1,6}}[\-/]?)?[0-9]))"
    rf"|(?P<parcels>{_TRACKING_WORD}{_BETWEEN}(?=[a-z0-9]))"
).match
# Five digits, or four among eight capitals or more.
_is_tracking_id = re.compile(r"(?:[^0-9]*+[0-9]){5}|(?=[A-Z0-9]{8})(?:[A-Z]*[0-9]){4}").match


def numbers_behind_words(text: str) -> list[Claim]:
    """Mask tracking numbers behind "tracking", "parcel" …, and order numbers, one or a list, behind "order" …"""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals are one character and two in lower case
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    claims: list[Claim] = []
    position = orders_end = parcels_end = 0
    while (before := _up_to_a_word(lowered, position)) and (start := before.end()) < len(lowered):
        position = start + 1
        word = _word(lowered, start)
        if word is None:
            continue
        if word.lastgroup == "orders":
            if start >= orders_end:
                orders_end = _order_numbers(text, lowered, word.end(), claims)
        elif start >= parcels_end:
            parcels_end = _tracking_numbers(text, lowered, word.end(), claims)
    return _apart(claims) if len(claims) > 1 else claims


def hash_numbers(text: str) -> list[Claim]:
    """Mask `#86125`: how shops write an order."""
    return [(*found.span("id"), mask_order(found["id"])) for found in _HASH_NUMBER.finditer(text)]


def _order_numbers(text: str, lowered: str, start: int, claims: list[Claim]) -> int:
    """Claim the order numbers from start on; where the list of them ends."""
    found = _list_of_orders(lowered, start)
    if found is None:
        return start
    for order in _orders(lowered, start, found.end()):
        first, last = order.span()
        number = text[first:last]
        if _has_order_digits(number):
            claims.append((first, last, mask_order(number)))
    return found.end()


def _tracking_numbers(text: str, lowered: str, start: int, claims: list[Claim]) -> int:
    """Claim the tracking numbers from start on; where the last of them ends."""
    end = start
    while (found := _tracking_id(text, start)) and _is_tracking_id(found.group()):
        end = found.end()
        claims.append((start, end, FULL_MASK))
        another = _and_another(lowered, end)
        if another is None:
            break
        start = another.end()
    return end


def _apart(claims: list[Claim]) -> list[Claim]:
    """The claims in order, without those that begin in another one."""
    apart: list[Claim] = []
    end = 0
    for claim in sorted(claims):
        if claim[0] >= end:
            apart.append(claim)
            end = claim[1]
    return apart
