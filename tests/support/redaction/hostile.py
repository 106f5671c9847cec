"""Inputs of 100 KB that a rule worse than linear would not survive."""

import json

SIZE = 100_000
REPEATED = [
    *("1", "@", "a@", "a", "+", "%", "\\", '"', "'", "*", "#", "=", "(", "[", "{", " ", "\n", ".", "-", "/", "é"),
    *("٣", "\0", "a@b.c ", "1 ", "1-", "1.", "+1", "a'", "a+/", "a.", "a1", "%40", "%25", "%2B", "&#64;"),
    *("&amp;", "\\u0040", "\\\\", '{"a":', '[{"', '{"a" x ', '{"a":1},', '["', '"a":', '{"phone":', "}{", "]["),
    *('{"a":"', "a:", "a=", "a: b ", 'phone="', "phone: ", "name: a ", "address=", "order ", "order #"),
    *("order 1,", "order 1 ", "tracking ", "tracking A 1 ", "https://", "https://track/", "https://track/1 "),
    *("ci-a#pi-a#", "a#b", "wamid.", "wamid", "HBgM", "evt:", "arn:aws:", "1715642626 ", "10:10 ", "a1b2c3d4 "),
    *("12345678-", "phone 12345 ", "1\u200b", "email=a@b.c&", "12:", "$1 ", "sk-", "***", "***-", "*** 1 ", '"@'),
    *("'a", "tel ", "call me ", "1234567 ", "123 456 ", "00 ", "+ 1 ", "(0) ", "ümlaut "),
    *("@[", "@[a", "~@", "~@a.b ", '"a"@', "#$%&", "order 12 34 ", "tel12 34 ", "po #", "1LSA", "SMa1", "$1,"),
    "contact ( 1 ",
    *(
        "eyJ",
        "eyJaaaaaaaa.",
        "?token=",
        "&a",
        "bearer ",
        "bearer a",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "md5$",
    ),
    # what people say
    *("at ", "a at ", "a at b ", "kat at a dot b ", "a (at) ", "(at)b.", " @ ", "@ ", "a=40b.", "_at_", "dot ", "one "),
    *("one 1 ", "oh ", "一", "공", "pin ", "pin 1 ", "code ", "your code ", "your code is ", "12345 is your code "),
    *("48213 is ", "48213 is my order ", "order is ", "my name is ", "my name is A ", "regards,\n", "regards,\nA "),
    *(
        "born ",
        "born on 1 ",
        "rue ",
        "rue A ",
        "12 rue A ",
        "str. 1 ",
        "aastraße 1",
        "via A 1,",
        "my address ",
        "zip A1 ",
    ),
    *(
        "iban ",
        "iban A1 ",
        "passport A ",
        "password ",
        "password a1",
        "gps 1.",
        "gps 1.234,",
        "///a.b",
        "://a:",
        "://a:b",
    ),
    *(
        "07_",
        "07*1",
        "+1*",
        "07<b>",
        "0<!--",
        "0O",
        "0I1l",
        "Aa1/",
        "hooks.slack.com/services/",
        "SG.a",
        "bc1",
        "0x",
        "AC0",
    ),
    *("vat ", "ean 1", "sku a1 ", "1500 units ", "order 1500 units ", "номер ", "رقم ", "订单", "订单是", "主文"),
]


def nested_strings(size: int) -> str:
    """JSON in a string in JSON in a string …, as deep as the size allows."""
    text = "447123456789"
    while len(text) < size:
        text = json.dumps({"a": text})
    return text


def strings_in_unusual_documents(size: int) -> str:
    """Long JSON in a string in JSON in a string …, each written in a way that has it read twice."""
    text = "447123456789 10:10 " * (size // 40)
    for _ in range(10):
        text = f'{{"a" : {json.dumps(text)}, "b":  "447123456789"}}'
    return text


def objects_with_masked_keys(depth: int) -> str:
    """An object in an object …, each with a key that is masked behind the others."""
    value: dict[str, object] = {"a": 1}
    for number in range(depth):
        value = {"a": value, f"u{number}@x.io": 1}
    return json.dumps(value)


def hostile_inputs() -> dict[str, str]:
    """Inputs of 100 KB that a rule worse than linear would not survive."""
    inputs = {repr(piece): piece * (SIZE // len(piece)) for piece in REPEATED}
    inputs |= {f"{piece!r} as a JSON string": json.dumps({"a": piece * (SIZE // len(piece))}) for piece in REPEATED}
    inputs["nested strings"] = nested_strings(SIZE)
    inputs["nested strings in unusual documents"] = strings_in_unusual_documents(SIZE)
    inputs["nested masked keys"] = objects_with_masked_keys(60)
    inputs["nested arrays"] = "[" * (SIZE // 2) + "]" * (SIZE // 2)
    inputs["nested objects"] = '{"a":' * (SIZE // 6) + "1" + "}" * (SIZE // 6)
    inputs["colliding keys"] = json.dumps({f"u{number}@x.io": number for number in range(SIZE // 16)})
    inputs["many keys"] = json.dumps({f"key{number}": str(number) for number in range(SIZE // 20)})
    return inputs
