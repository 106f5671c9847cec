"""Saved views: named filters of the queue or of a list of conversations, for oneself or for others."""
