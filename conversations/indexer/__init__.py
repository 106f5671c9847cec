"""The indexer of the queue (docs/hand-off.md): derives the console's own attributes from the platform's flag.

The platform sets `hand_off_to_human` and does not know about the queue. The indexer follows the table's stream, or
scans the table, and keeps `gsi_hand_off_queue` and `hand_off_requested_at` correct. It records each request of the
platform once, and restores a person's decision after a service wrote back stale values.

`handling` processes one record of the stream or one item of a sweep. `queue_index/states.py` judges the item,
`queue_index/writing.py` repairs it; `requests` and `entries` record requests; `reassertion` restores. `worker` brings
the records, by the stream and the lease of `workers/`; `section` says on the system page how it goes. Everything is
idempotent and safe to run in two workers concurrently.
"""
