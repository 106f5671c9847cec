"""The stream of the conversations table: its records and shards, read in order."""
