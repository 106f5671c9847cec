"""How any background part runs: its lease, its queue, its stream, its counts and its heartbeats."""
