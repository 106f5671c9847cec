"""The stream of the conversations table: its records, its shards, and reading them in order."""
