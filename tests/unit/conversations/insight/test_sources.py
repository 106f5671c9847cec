"""What walks remember of sources."""

from conversations.insight.sources import hash_content


def test_items_are_the_same_in_whatever_order_their_attributes_come():
    item = {"PK": {"S": "a"}, "meta": {"M": {"one": {"N": "1"}, "two": {"B": b"2"}}}}
    same = {"meta": {"M": {"two": {"B": b"2"}, "one": {"N": "1"}}}, "PK": {"S": "a"}}
    assert hash_content([item], True) == hash_content([same], True)
    assert hash_content([item], True) != hash_content([item], False)
    assert hash_content([item]) != hash_content([item | {"PK": {"S": "b"}}])
