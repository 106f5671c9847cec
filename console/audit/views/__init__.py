"""The pages of the audit trail, one module for each kind."""
