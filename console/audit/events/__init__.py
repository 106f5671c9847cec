"""Idempotency records: events and actions already processed (schema middleware-state-idempotency-audit, table A)."""
