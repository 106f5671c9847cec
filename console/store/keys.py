"""What DynamoDB takes for a key of an item."""

PARTITION_KEY_BYTES = 2048
SORT_KEY_BYTES = 1024


def fits(value: str, most: int = PARTITION_KEY_BYTES) -> bool:
    """Whether a text can be a key: not empty, and at most so many bytes as UTF-8."""
    return 0 < len(value.encode("utf-8", "surrogatepass")) <= most
