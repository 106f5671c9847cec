"""Pages of signing in, of one's own account, and of the staff."""
