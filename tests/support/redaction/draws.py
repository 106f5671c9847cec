"""Seeded draws of texts that hold personal data, or look as if they did, in the forms that payloads and logs have.

A draw is a text, what of it must not survive (also not after JSON, URL or HTML decoding) and what must. The numbers are
invented; the forms are those of real countries, couriers, shops and libraries.
"""

import base64
import json
import random
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from tests.support.redaction.forms import (
    ADDRESS_KEYS,
    DIGITS,
    EMAIL_KEYS,
    EMAIL_SENTENCES,
    HARMLESS_KEYS,
    HOSTS,
    LINK_SENTENCES,
    LINKS,
    LOCAL_PARTS,
    NAME_KEYS,
    NAMES,
    ORDER_KEYS,
    ORDER_SENTENCES,
    ORDERS,
    PARCEL_KEYS,
    PARCEL_SENTENCES,
    PARCELS,
    PHONE_KEYS,
    PHONE_SENTENCES,
    PHONES,
)
from tests.support.redaction.makings import Makings


class Draw(NamedTuple):
    """One text: `secrets` must be gone from what redaction returns, `kept` must be in it."""

    kind: str
    text: str
    secrets: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class Draws:
    """The same seed gives the same draws."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._one = self._random.choice
        self._makings = Makings(self._random)

    def take(self, count: int) -> Iterator[Draw]:
        """That many draws of every kind in turn."""
        kinds: list[Callable[[], Draw]] = [
            *(self.phone, self.keyed_phone, self.encoded_phone, self.phone_in_id, self.email, self.keyed_email),
            *(self.encoded_email, self.order, self.keyed_order, self.parcel, self.keyed_parcel, self.parcel_link),
            *(self.person, self.payload, self.cut_payload, self.harmless, self.harmless, self.harmless_payload),
            *(self.made_harmless, self.made_harmless, self.made_personal),
        ]
        for turn in range(count):
            yield kinds[turn % len(kinds)]()

    # --- values -------------------------------------------------------------------------------------------------------

    def _filled(self, form: str) -> str:
        return "".join(str(self._random.randint(1, 9)) if char == "N" else char for char in form)

    def _hex(self, count: int) -> str:
        digits = "".join(self._random.choices("0123456789abcdef", k=count))
        return "a" + digits[1:-1] + "b"

    def _phone(self) -> tuple[str, str]:
        """A number as "+49 151 12345678", and its digits."""
        written = "+" + self._filled(self._one(PHONES))
        return written, "".join(filter(str.isdigit, written))

    def _email(self) -> str:
        return f"{self._one(LOCAL_PARTS)}{self._random.randint(0, 99)}@{self._one(HOSTS)}"

    def _nested(self, value: object, depth: int) -> str:
        """JSON in strings in JSON, that deep."""
        text = json.dumps({self._one(HARMLESS_KEYS): value, "n": 1}, ensure_ascii=self._one([True, False]))
        for _ in range(depth):
            text = json.dumps({self._one(HARMLESS_KEYS): text, "ok": True})
        return text

    def _framed(self, text: str) -> str:
        """The text alone, in a log line, or as a value of JSON up to three strings deep."""
        depth = self._random.randint(-2, 3)
        if depth == -2:
            return text
        return f"INFO worker[3] {text} done" if depth == -1 else self._nested(text, depth)

    # --- phones -------------------------------------------------------------------------------------------------------

    def phone(self) -> Draw:
        written, digits = self._phone()
        code, national = written.split(" ", 1)
        forms = [written, f"+{digits}", f"00{digits}", written.replace(" ", "."), written.replace(" ", "-")]
        form = self._one([*forms, f"{code} (0) {national}"])
        text = self._framed(self._one(PHONE_SENTENCES).format(form))
        return Draw("phone", text, (form, digits[:8], digits[-8:]))

    def keyed_phone(self) -> Draw:
        written, digits = self._phone()
        national = written.split(" ", 1)[1]
        key, value = self._one(PHONE_KEYS), self._one([written, digits, int(digits), national, f"0{national}"])
        if self._one([True, False]) and not isinstance(value, int):
            separator = self._one(["=", ": ", ":"])
            text = f"level=info {key}{separator}{value}; status=ok"
            return Draw("keyed phone", text, (str(value),), ("level=info", "status=ok"))
        text = json.dumps({"customer": {key: value, "locale": "pt"}, "attempt": 2}, ensure_ascii=False)
        if self._one([True, False]):
            text = json.dumps({"body": text})
        return Draw("keyed phone", text, (str(value),), ("locale", "pt", "attempt"))

    def encoded_phone(self) -> Draw:
        written, digits = self._phone()
        spaced = written.replace("-", " ").replace("(", "").replace(")", "")
        forms = [
            f"GET /v2/find?to=%2B{digits}&x=1",
            f"GET /v2/find?to={quote_plus(spaced)}&x=1",
            f"next={quote(quote('/find?to=+' + digits, safe=''), safe='')}",
            f"my number is {spaced.replace(' ', self._one([chr(0xA0), chr(0x202F), chr(0x2009), chr(0x200B)]))}",
            f"my number is {spaced.replace(' ', self._one(['–', '‑', '−']))}",
            f"my number is {spaced.translate(str.maketrans('0123456789', self._one(DIGITS)))}",
            f"<td>&#43;{digits}</td>",
            f'{{"to": "\\u002b{digits}", "ok": 1}}',
            f"https://wa.me/{digits}?text=hi",
        ]
        return Draw("encoded phone", self._one(forms), (written, digits, digits[:8], digits[-8:], spaced))

    def phone_in_id(self) -> Draw:
        digits, pick = self._phone()[1], self._random.randint
        start = f"ci-{self._hex(3)}-001#pi-{self._hex(3)}-00{pick(1, 9)}#req{pick(1, 99999)}#"
        inside = b"\x1d\x07\x11" + bytes([len(digits)]) + digits.encode() + b"\x15\x02\x00\x12\x18" + b"A" * 20
        wamid = base64.b64encode(inside).decode()
        chat = f"{digits}@{self._one(['c.us', 's.whatsapp.net'])}"
        forms = [
            Draw("conversation id", start + digits, (digits,), (start,)),
            Draw("conversation id", f"WARN conv={start}{digits} status=open", (digits,), (start, "status=open")),
            Draw("conversation id", json.dumps({"conversation_id": start + digits, "v": 3}), (digits,), (start, '"v"')),
            Draw("chat id", json.dumps({"chat": chat}), (digits,), ("chat",)),
            Draw("WhatsApp id", json.dumps({"id": f"wamid.{wamid}"}), (wamid[6:22],), ("id",)),
            Draw("dictionary key", json.dumps({f"+{digits}": {"state": "open"}}), (digits,), ("state", "open")),
            Draw("array", json.dumps({"to": [f"+{digits}", digits]}), (digits,), ("to",)),
        ]
        return self._one(forms)

    # --- emails -------------------------------------------------------------------------------------------------------

    def email(self) -> Draw:
        email = self._email()
        text = self._framed(self._one(EMAIL_SENTENCES).format(email))
        return Draw("email", text, (email, "@" + email.split("@")[1]))

    def keyed_email(self) -> Draw:
        email = self._email()
        text = json.dumps({self._one([*EMAIL_KEYS, *HARMLESS_KEYS]): email, "n": 4}, ensure_ascii=False)
        text = self._one([text, json.dumps({email: "active", "n": 4}), json.dumps({"l": [[email]], "n": 4}), text[:-9]])
        return Draw("keyed email", text, (email, json.dumps(email)[1:-1]))

    def encoded_email(self) -> Draw:
        email = f"{self._one(LOCAL_PARTS[:7])}{self._random.randint(0, 99)}@{self._one(HOSTS[:2])}".replace("'", "")
        forms = [
            f"GET /u?email={quote(email, safe='')}&page=2",
            f"https://api.example.com/users/{quote(email, safe='')}/orders",
            f"next={quote(quote('/u?email=' + email, safe=''), safe='')}",
            f"<td>{email.replace('@', self._one(['&#64;', '&#x40;', '&commat;']))}</td>",
            json.dumps({"to": email}).replace("@", "\\u0040"),
            json.dumps({"body": json.dumps({"to": email}).replace("@", "\\u0040")}),
        ]
        return Draw("encoded email", self._one(forms), (email, quote(email, safe=""), "@" + email.split("@")[1]))

    # --- orders and parcels -------------------------------------------------------------------------------------------

    def order(self) -> Draw:
        number = self._filled(self._one(ORDERS))
        return Draw("order", self._framed(self._one(ORDER_SENTENCES).format(number)), (number,))

    def keyed_order(self) -> Draw:
        number = self._filled(self._one(ORDERS))
        key, value = self._one(ORDER_KEYS), self._one([number, [number]])
        document = self._one(
            [{key: value, "state": "paid"}, {"order": {"id": number, "name": f"#{number}", "state": "paid"}}]
        )
        text = json.dumps(document)
        return Draw("keyed order", self._one([text, json.dumps({"args": text})]), (number,), ("state", "paid"))

    def parcel(self) -> Draw:
        number = self._filled(self._one(PARCELS))
        form = self._one([number, " ".join(number[at : at + 4] for at in range(0, len(number), 4))])
        alone = ["Parcel {} is on its way", "my {} came", "sent as {}."] if form == number else []
        return Draw("parcel", self._framed(self._one([*PARCEL_SENTENCES, *alone]).format(form)), (number, form))

    def keyed_parcel(self) -> Draw:
        number = self._filled(self._one(PARCELS))
        text = json.dumps({"shipment": {self._one(PARCEL_KEYS): number, "carrier": "post"}, "n": 1})
        return Draw("keyed parcel", self._one([text, json.dumps({"out": text})]), (number,), ("carrier", "post"))

    def parcel_link(self) -> Draw:
        number = self._filled(self._one(PARCELS))
        text = self._one(LINK_SENTENCES).format(self._one(LINKS).format(number))
        return Draw("parcel link", self._framed(text), (number,))

    # --- people and whole payloads ------------------------------------------------------------------------------------

    def person(self) -> Draw:
        name = self._one(NAMES)
        street = f"{self._random.randint(1, 99)} {self._one(['Quay Street', 'Rua Áurea', 'Lindenallee'])}"
        document = {
            "customer": {self._one(NAME_KEYS): name, "name": name, "tags": ["vip"]},
            "product": {"name": "Blue shirt"},
            "default_address": {self._one(ADDRESS_KEYS): street, "city": "Fowey", "country": "GB"},
        }
        text = json.dumps(document, ensure_ascii=self._one([True, False]), indent=self._one([None, 2]))
        return Draw("person", text, (name, json.dumps(name)[1:-1], street, "Fowey"), ("Blue shirt", "vip"))

    def _whole(self) -> tuple[dict[str, object], tuple[str, ...], tuple[str, ...]]:
        written, digits = self._phone()
        email, name = self._email(), self._one(NAMES)
        number, parcel, event = (
            self._filled("NNNNNNN"),
            self._filled("RRNNNNNNNNNGB"),
            str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
        )
        start = f"ci-{self._hex(3)}-001#pi-aaa-001#req7#"
        document = {
            "eventId": event,
            "at": "2024-11-05T07:30:12.345Z",
            "conversationId": start + digits,
            "message": {
                "from": digits,
                "text": f"Hi, order #{number} is late, mail {email} or {written}. Tracking {parcel}",
            },
            "tool": {"args": json.dumps({"orderNumber": number, "contact": json.dumps({"email": email})})},
            "result": {"customer": {"first_name": name, "phone": written}, "usage": {"tokens": 123456789}},
            "ms": 12.25,
        }
        return document, (digits, written, email, number, parcel, name), (event, "2024-11-05T07:30:12.345Z", start)

    def payload(self) -> Draw:
        document, secrets, kept = self._whole()
        text = json.dumps(
            document, ensure_ascii=False, indent=self._one([None, 1]), separators=self._one([None, (",", ":")])
        )
        return Draw("payload", text, secrets, (*kept, "123456789", "12.25"))

    def cut_payload(self) -> Draw:
        document, secrets, _ = self._whole()
        text = json.dumps(document, ensure_ascii=False)
        return Draw("cut payload", text[: self._random.randint(40, len(text))], secrets)

    # --- what must stay -----------------------------------------------------------------------------------------------

    def harmless(self) -> Draw:
        value = self._harmless_value()
        key = self._one(["trace", "ref", "value", "source", "etag", "detail"])
        frames = [value, f"processed {value} fine", f"level=info {key}={value} ok", _json({key: value, "ok": True})]
        frames += [_json({"msg": f"saw {value} now"}), _json({"data": _json({"value": value})})]
        return Draw("harmless", self._one(frames), (), (value,))

    def made_harmless(self) -> Draw:
        value, text = self._makings.harmless_text()
        return Draw("made harmless", text, (), (value,))

    def made_personal(self) -> Draw:
        text, secret = self._makings.personal_text()
        return Draw("made personal", text, (secret,))

    def _harmless_value(self) -> str:
        number, pick = self._random.randint, self._one
        day, month, year = number(1, 28), number(1, 12), number(2015, 2029)
        clock = f"{number(0, 23):02}:{number(0, 59):02}"
        seconds = str(number(1_400_000_000, 1_999_999_999))
        forms = [
            *(
                str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
                self._filled("NNNNNNNN-NNNN-4NNN-8NNN-NNNNNNNNNNNN"),
            ),
            *(f"{year}-{month:02}-{day:02}", f"{year}-{month:02}-{day:02}T{clock}:09.{number(0, 999999):06}+02:00"),
            *(f"{year}-{month:02}-{day:02} {clock}:59", f"{day:02}/{month:02}/{year} {clock}", f"{day}.{month}.{year}"),
            *(
                f"Tue, {day:02} Nov {year} {clock}:12 GMT",
                f"{year}{month:02}{day:02}T{clock.replace(':', '')}00Z",
                clock,
            ),
            *(
                seconds,
                seconds + self._filled("NNN"),
                f"{seconds}.{number(1, 999)}",
                f"TS#{seconds}123#evt_{self._hex(6)}",
            ),
            *(
                self._hex(32),
                self._hex(40),
                self._hex(64),
                f"sha256:{self._hex(64)}",
                self._hex(24),
                f"thread_{self._hex(20)}",
            ),
            *(
                f"Root=1-{self._hex(8)}-{self._hex(24)}",
                f"00-{self._hex(32)}-{self._hex(16)}-01",
                f"run_{uuid.UUID(int=number(1, 2**127))}",
            ),
            f"arn:aws:{pick(['lambda', 'sqs', 'dynamodb'])}:eu-central-1:{self._filled('NNNNNNNNNNNN')}:table/x",
            *(
                f"10.{number(0, 255)}.{number(0, 255)}.{number(1, 254)}",
                f"172.16.{number(0, 255)}.9:{number(1024, 65535)}",
            ),
            *(
                f"{number(1, 30)}.{number(0, 40)}.{number(0, 99)}",
                f"lib@{number(1, 30)}.{number(0, 40)}.1",
                "see @ops-team now",
            ),
            *(
                f"€{number(1, 99)},{number(100, 999)}.50",
                f"USD {number(1, 999999)}.99",
                f"{number(1, 99999999)} bytes",
                f"{number(1, 9999)} ms",
            ),
            *(
                f"evt:rp:conv{number(1, 999)}:msg{number(1, 999)}",
                f"idem-{uuid.UUID(int=number(1, 2**127))}",
                f"CONV#conv{number(1, 999)}",
            ),
            *(
                pick(["gpt-4.1-2025-04-14", "claude-3-7-sonnet-20250219"]),
                f"E{number(100, 999)}",
                f"handler.py:{number(1, 999)}",
            ),
            *(
                "***-***-4821",
                "***@***",
                "***5512",
                f"#{pick(['a1b2c3', 'fff', 'c0ffee'])}",
                "application/json",
                "tracking_updated",
            ),
            *(
                f"{number(1, 99)}.{number(1, 9)}%",
                f"page {number(1, 20)} of {number(20, 90)}",
                f"{year - 1}-{year}",
                "order_status",
            ),
        ]
        return pick(forms)

    def harmless_payload(self) -> Draw:
        number = self._random.randint
        document = {
            "eventId": str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
            "type": self._one(["agent.step", "order.updated", "tracking_updated"]),
            "createdAt": f"2025-0{number(1, 9)}-1{number(0, 9)}T01:48:09.{number(100, 999)}Z",
            "usage": {"prompt_tokens": number(1, 10**8), "totalTokens": number(1, 10**9)},
            "amount_minor": number(1, 10**9),
            "product_id": number(10**9, 10**12),
            "ttl": number(1_700_000_000, 1_900_000_000),
            "epochMs": number(1_700_000_000_000, 1_900_000_000_000),
            "latencyMs": number(1, 10**6) / 8,
            "sort_order": number(1, 9),
            "phone_verified": True,
            "tracking_status": "in_transit",
            "email_sent": False,
            "hash": self._hex(64),
            "traceId": self._hex(32),
            "idempotencyKey": f"evt:rp:conv{number(1, 99)}:msg{number(1, 99)}",
        }
        text = json.dumps(document, indent=self._one([None, 2]))
        kept = tuple(json.dumps(value).strip('"') for value in document.values() if not isinstance(value, dict))
        return Draw("harmless payload", self._one([text, f"DEBUG out={text}"]), (), kept)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
