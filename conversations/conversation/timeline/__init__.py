"""The timeline of a conversation: messages, hand-off, actions, idempotency records and state, newest first."""
