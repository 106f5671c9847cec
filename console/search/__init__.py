"""The search box: recognition of what was typed, and a parallel search of every store that may have it."""
