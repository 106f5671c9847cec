"""Saved replies: short texts that people pick into their reply to a customer."""
