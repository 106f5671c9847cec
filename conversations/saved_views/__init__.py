"""Saved views: filters of the queue or of a list of conversations, kept under a name for oneself or for others."""
