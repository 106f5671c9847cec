"""Conversations of tenants with their assistant (schema tenants, table conversations): read, and cleared."""
