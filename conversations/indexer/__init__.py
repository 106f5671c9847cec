"""The indexer of the queue (data model, section 4): what the platform's flag means for the console's own attributes.

The platform sets `hand_off_to_human` and knows nothing of the queue. The indexer follows the table's stream, or walks
over the table, and keeps `gsi_hand_off_queue` and `hand_off_requested_at` right, records each request of the platform
once, and restores what a person had decided where a service wrote back what it had read before.

`states` judges an item, `writing` repairs it; `requests` and `entries` record requests; `reassertion` restores;
`handling` does what one record of the stream, or one item of a sweep, asks for. `streams`, `sweep`, `lease` and
`worker` bring these to it, `health` tells how that goes. Everything may be done twice, and by two at once.
"""

from conversations.indexer.lambda_entry import lambda_handler

__all__ = ["lambda_handler"]
