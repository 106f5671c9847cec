"""Values that builds, clouds, shops and customers write: harmless ones, and hidden personal data."""

import json
import random
import string

from tests.support.redaction.forms import listed

ACTIONS = listed("actions/checkout|docker/login-action|org/repo|acme/tools.js|a-b/c_d/sub")
IMAGES = listed("image|registry.example.com/team/app|ghcr.io/acme/api|localhost:5000/x")
KERNELS = listed("el8|el8_10.x86_64|aws|generic|azure")
CURRENCIES = listed("EUR|USD|GBP|CHF|SEK|PLN|INR|BRL")
RESOURCES = listed("subnet|vpc|vol|eni|snap|rtb|igw|ami|eipalloc")
REGIONS = listed("eu-west-2|us-east-1|ap-southeast-1")
SIZES = listed("bytes|B|KiB|MiB|KB|MB|tokens|rows|records|chars|ms")
ORDER_PREFIXES = listed("JR|ORD|SO|AB|WEB")
ORDER_SENTENCES = listed(
    "ORD-{}|ord {}|where is ORD-{} now?|order_confirmation: {}|order confirmation {}|أين طلبي رقم {}|رقم الطلب: {}"
    "|أريد إلغاء الطلب {} من فضلك|मेरा ऑर्डर {} कहाँ है|ऑर्डर नंबर {}|ऑर्डर संख्या: {}|주문번호 {}|주문 {} 언제 오나요"
    "|제 주문번호는 {} 입니다|คำสั่งซื้อ {}|หมายเลขคำสั่งซื้อ {}|คำสั่งซื้อหมายเลข {} อยู่ที่ไหน|đơn hàng {}|mã đơn hàng: {}"
    "|đơn hàng số {} của tôi ở đâu|订单号 {}|我的订单{}在哪|訂單編號：{}|單號 {}|请问订单 {} 什么时候到"
)
UNITS = listed(
    "let {} us know|tell {} ms Smith|{} records a message|{} tokens of love|give {} rows of seats|{} bytes back please"
    "|pay {} EUR"
)
GLUED = listed("call{}|ring{}|on{}|at{} now|text{} please")
LOCAL_SIGNS = "!#$%&'*+-/=?^_`{|}~"
PEOPLE = listed("Olivia Brown|acme ltd|伊藤|Zoë|jean|MARY ANN|Nguyễn Văn An|o'neill")


class Makings:
    """Values made of one source of chance; the same source gives the same ones."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._one = source.choice

    def _digits(self, count: int) -> str:
        return str(self._random.randint(1, 9)) + "".join(self._random.choices(string.digits, k=count - 1))

    def _hex(self, count: int) -> str:
        """Hex digits with two letters at least, and a digit."""
        drawn = "".join(self._random.choices("0123456789abcdef", k=count - 3))
        return self._one("abcdef") + drawn + self._one("abcdef") + self._one(string.digits)

    def _amount(self) -> str:
        """Money, as it is written in Europe, in America and by machines, with its sign or its currency."""
        whole, cents, currency = self._random.randint(1, 99_999_999), self._random.randint(0, 99), self._one(CURRENCIES)
        comma = f"{whole:,}.{cents:02}"
        dotted = f"{whole:,}".replace(",", ".") + f",{cents:02}"
        spaced = f"{whole:,}".replace(",", " ") + f",{cents:02}"
        forms = [f"{currency} {whole}", f"{whole} {currency}", f"{currency} {comma}", f"{comma} {currency}"]
        forms += [f"{dotted} €", f"€ {dotted}", f"€{comma}", f"${whole}.{cents:02}", f"£{whole}", f"{spaced} €"]
        return self._one([*forms, f"{spaced} {self._one(['kr', 'zł', 'Kč', 'EUR'])}", f"{whole}.{cents:02} {currency}"])

    def _interval(self) -> str:
        number = self._random.randint
        days = [f"20{number(15, 29)}-{number(1, 12):02}-{number(1, 28):02}" for _ in range(2)]
        clocks = [f"T{number(0, 23):02}:{number(0, 59):02}:{number(0, 59):02}Z" for _ in range(2)]
        basic = [day.replace("-", "") + clock.replace(":", "") for day, clock in zip(days, clocks, strict=True)]
        return self._one(["/".join(days), f"{days[0]}{clocks[0]}/{days[1]}{clocks[1]}", "/".join(basic)])

    def _isbn(self) -> str:
        """ISBNs with their check digits."""
        ten = self._digits(9)
        check = sum((10 - place) * int(digit) for place, digit in enumerate(ten)) % 11
        last = "0X987654321"[check] if check else "0"
        body = f"978{ten}"
        thirteen = -sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body)) % 10
        forms = [f"ISBN {ten[0]}-{ten[1:4]}-{ten[4:]}-{last}", f"ISBN {ten}{last}", f"isbn:{body}{thirteen}"]
        return self._one([*forms, f"ISBN 978-{ten[0]}-{ten[1:3]}-{ten[3:]}-{thirteen}", f"ISBN-13: {body}{thirteen}"])

    def _version(self) -> str:
        number = self._random.randint
        forms = [f"0.0.0.{number(1, 99999)}", f"{number(1, 10)}.{number(0, 99)}.{number(0, 99)}.{number(0, 20315)}"]
        linux = f"{number(2, 6)}.{number(0, 18)}.{number(0, 200)}-{number(1, 1062)}"
        return self._one([*forms, f"{linux}{self._one('.-')}{self._one(KERNELS)}"])

    def harmless(self) -> str:
        """Something of a build, a cloud, a shop or a library that looks like a number or an address and is none."""
        pick, account, number = self._one, self._digits(12), self._random.randint
        groups = [
            [f"{pick(ACTIONS)}@v{number(1, 9)}", f"{pick(ACTIONS)}@v{number(1, 40)}.{number(0, 20)}.{number(0, 9)}"],
            [f"{pick(ACTIONS)}@{self._hex(40)}", f"{pick(ACTIONS)}@{self._hex(number(7, 12))}"],
            [f"{pick(IMAGES)}@sha256:{self._hex(64)}"],
            [f"commit {self._hex(number(7, 12))}", f"HEAD is now at {self._hex(7)}", f"commit {self._digits(7)}"],
            [self._version()],
            [self._interval()],
            [self._amount()],
            [f"19:meeting_{self._hex(24)}@thread.v2", f"19:{self._hex(32)}@thread.{pick(['tacv2', 'skype', 'v2'])}"],
            [
                f"https://sqs.{pick(REGIONS)}.amazonaws.com/{account}/{pick(['handoff', 'q-1'])}",
                f"{account}.dkr.ecr.{pick(REGIONS)}.amazonaws.com/app:{number(1, 99)}",
                f"arn:aws:sns:{pick(REGIONS)}:{account}:alerts",
            ],
            [f"{pick(RESOURCES)}-{pick([self._hex(17), self._hex(8), '0' + self._hex(16)])}"],
            [f"{pick(['sg', 'i', 'nat'])}-{self._hex(17)}"],
            [self._isbn()],
            [
                f"{number(1, 999_999_999)} {pick(SIZES)}",
                f"{number(1, 99_999_999)}B",
                f"{number(1, 999)}.{number(0, 9)}MiB",
            ],
        ]
        return pick(pick(groups))

    def harmless_text(self) -> tuple[str, str]:
        """A harmless value, and a text that it stands in: alone, prose, a log line, a link, JSON, JSON cut off."""
        value = self.harmless()
        key = self._one(["uses", "ref", "value", "image", "detail", "window"])
        whole = _json({"id": 7, key: f"saw {value} today", "rest": "of it"})
        frames = [
            value,
            f"we saw {value} and went on",
            f"({value})",
            f"level=info {key}={value} ok",
            f"- {key}: {value}",
        ]
        frames += [_json({key: value}), _json([value, 1]), _json({"a": _json({key: value})})]
        frames += [
            whole,
            whole[:-9],
            whole[: whole.index(" today") + 3],
            f"DEBUG out={whole[:-3]}",
            f"{value}, {value}.",
        ]
        if not set(value) & set(" @€£$"):
            frames.append(f"GET https://ci.example/view?{key}={value}&page=2 200")
        return value, self._one(frames)

    def _order(self) -> tuple[str, str]:
        number = self._digits(self._random.randint(5, 6))
        written = {"S": number}
        prefixed = f"{self._one(ORDER_PREFIXES)}{number}"
        forms = [f"#{prefixed}", f"where is #{prefixed}?", f"#{prefixed}, please"] if self._one([0, 0, 1]) else []
        forms = forms or [self._one(ORDER_SENTENCES).format(number)] * 3 + [
            json.dumps({self._one(["orderId", "order_id", "orderNumber"]): written}),
            json.dumps({"Item": {"order": {"M": {"id": {self._one("SN"): number}}}}}),
            json.dumps({"order": {"L": [{"M": {"number": written}}]}}),
            json.dumps({"orderIds": {"SS": [number, self._digits(5)]}}),
            json.dumps({"order_confirmation": number}),
        ]
        return self._one(forms), number

    def _phone(self) -> tuple[str, str]:
        """A text with a number beside something that looks like its unit, glued to a word, or with a tab in it."""
        digits = "07" + self._digits(9)
        grouped = self._one([f"{digits[:5]} {digits[5:8]} {digits[8:]}", f"{digits[:5]} {digits[5:]}"])
        forms = [
            self._one(UNITS).format(digits),
            self._one(GLUED).format(grouped),
            f"call {grouped}".replace(" ", "\t"),
        ]
        # The beginning of a number is in no mask.
        return self._one([*forms, f"{digits[:5]}\t{digits[5:]} is mine"]), digits[:5]

    def _local_part(self) -> tuple[str, str]:
        left = "".join(self._random.choices(string.ascii_lowercase, k=self._random.randint(2, 6))) + "qz"
        right = "".join(self._random.choices(string.ascii_lowercase, k=self._random.randint(2, 6))) + "kx"
        return f"{left}{self._one(LOCAL_SIGNS)}{right}@mail.example", right

    def personal_text(self) -> tuple[str, str]:
        """A text that hides personal data, and the personal data."""
        form = self._random.randrange(4)
        if form == 0:
            text, secret = self._order()
        elif form == 1:
            text, secret = self._phone()
        elif form == 2:
            text, secret = self._local_part()
        else:
            return self._contact()
        frames = [text, text, json.dumps({"body": text}), json.dumps({"body": text}, ensure_ascii=False)]
        frames += [f"INFO {text} done", json.dumps({"n": json.dumps({"note": f"hi, {text}"})})]
        frames += [json.dumps({"note": text, "b": 1}, ensure_ascii=False)[: -self._random.randint(2, 8)]]
        return self._one(frames), secret

    def _contact(self) -> tuple[str, str]:
        """An object in which a name stands beside a phone or an email, in whatever order."""
        name = self._one(PEOPLE)
        members: list[tuple[str, object]] = [
            ("name", name),
            self._one([("phone", "07700900123"), ("email", "a@b.example"), ("mobile", 447700900123)]),
            (self._one(["locale", "note"]), "pt"),
        ]
        self._random.shuffle(members)
        value = self._one([dict(members), {"rows": [dict(members)]}, {"data": {"x": dict(members)}}])
        text = json.dumps(value, ensure_ascii=False)
        return self._one([text, f"saw {text}", json.dumps({"body": text}, ensure_ascii=False)]), name


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
