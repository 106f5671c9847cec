"""Pages for signing in, people's own account, and the list of staff."""
