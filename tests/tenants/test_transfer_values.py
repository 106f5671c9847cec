"""DynamoDB JSON in files: nothing is lost on the way out and back, and nothing else comes in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenants.transfer.values import Malformed, canonical, from_json, to_json
from tests.store import to_dynamodb
from tests.tenants.stored import EVERYTHING

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers(-(10**37), 10**37).map(str) | st.decimals(-999, 999, places=4).map(str)
SCALAR = (
    st.fixed_dictionaries({"S": TEXT})
    | st.fixed_dictionaries({"N": NUMBER})
    | st.fixed_dictionaries({"B": st.binary(max_size=20)})
    | st.fixed_dictionaries({"BOOL": st.booleans()})
    | st.just({"NULL": True})
    | st.fixed_dictionaries({"SS": st.lists(TEXT, min_size=1, max_size=4, unique=True)})
    | st.fixed_dictionaries({"NS": st.lists(st.integers().map(str), min_size=1, max_size=4, unique=True)}).filter(
        lambda value: all(len(each) < 38 for each in value["NS"])
    )
    | st.fixed_dictionaries({"BS": st.lists(st.binary(max_size=9), min_size=1, max_size=4, unique=True)})
)
VALUE = st.recursive(
    SCALAR,
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"M": st.dictionaries(TEXT, inner, max_size=3)})
    ),
    max_leaves=8,
)
ITEM = st.dictionaries(TEXT.filter(bool), VALUE, min_size=1, max_size=5)


@given(ITEM)
def test_an_item_is_the_same_after_a_file(item):
    back = from_json(json.loads(json.dumps(to_json(item))))
    assert canonical(back) == canonical(item)
    assert to_json(back) == to_json(item)


def test_every_type_is_the_same_after_a_file():
    item = to_dynamodb(EVERYTHING)
    assert canonical(from_json(json.loads(json.dumps(to_json(item))))) == canonical(item)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "1"}, {"N": "1.00"}),
        ({"N": "0"}, {"N": "-0.0"}),
        ({"N": "100"}, {"N": "1E2"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}),
    ],
)
def test_what_dynamodb_holds_to_be_the_same_is_the_same(one, other):
    assert canonical({"a": one}) == canonical({"a": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"SS": ["a"]}, {"L": [{"S": "a"}]}),
        ({"BOOL": True}, {"N": "1"}),
        ({"N": "12345678901234567890123456789012345678"}, {"N": "12345678901234567890123456789012345679"}),
        ({"M": {}}, {"L": []}),
    ],
)
def test_what_differs_differs(one, other):
    assert canonical({"a": one}) != canonical({"a": other})


DEEP: dict = {"S": "x"}
for _ in range(40):
    DEEP = {"L": [DEEP]}


@pytest.mark.parametrize(
    "value",
    [
        "text",
        None,
        [],
        {},
        {"S": "a", "N": "1"},
        {"X": "a"},
        {"s": "a"},
        {"S": 1},
        {"S": None},
        {"S": "\ud800"},
        {"N": 1},
        {"N": "NaN"},
        {"N": "Infinity"},
        {"N": "1_0"},
        {"N": " 1"},
        {"N": "٣"},
        {"N": ""},
        {"N": "1e126"},
        {"N": "1e-131"},
        {"N": "1e9999"},
        {"N": "9" * 39},
        {"N": "1" * 5000},
        {"B": "not base64"},
        {"B": "YQ"},
        {"B": ["YQ=="]},
        {"BOOL": "true"},
        {"BOOL": 1},
        {"NULL": False},
        {"NULL": None},
        {"SS": []},
        {"SS": ["a", "a"]},
        {"SS": "a"},
        {"SS": [1]},
        {"NS": ["1", "1.0"]},
        {"BS": ["YQ==", "YQ=="]},
        {"BS": ["YQ==", "~"]},
        {"L": {}},
        {"L": ["a"]},
        {"M": []},
        {"M": {"a": "b"}},
        {"M": {"\udfff": {"S": "b"}}},
        DEEP,
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_value_of_dynamodb_is_refused(value):
    with pytest.raises(Malformed, match="attribute 'a'"):
        from_json({"a": value})


@pytest.mark.parametrize("item", [None, "x", [], {"": {"S": "x"}}, {"\ud800": {"S": "x"}}], ids=repr)
def test_what_is_no_item_is_refused(item):
    with pytest.raises(Malformed):
        from_json(item)
