"""The indexer of the queue (data model, section 4): derives the console's own attributes from the platform's flag.

The platform sets `hand_off_to_human` and does not know about the queue. The indexer follows the table's stream, or
scans the table, and keeps `gsi_hand_off_queue` and `hand_off_requested_at` correct. It records each request of the
platform once, and restores a person's decision after a service wrote back stale values.

`states` judges an item, `writing` repairs it; `requests` and `entries` record requests; `reassertion` restores;
`handling` processes one record of the stream or one item of a sweep. `streams`, `sweep`, `lease` and `worker` supply
these, and `health` reports on the indexer. Everything is idempotent and safe to run in two workers concurrently.
"""
