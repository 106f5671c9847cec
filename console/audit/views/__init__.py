"""Pages of the audit trail: one module for each kind."""
