"""The page of a conversation."""
