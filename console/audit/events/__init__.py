"""Idempotency records: which event and action was done already (schema middleware-state-idempotency-audit, table A)."""
