"""How conversations are found: filters, queries, lists of pages, and look-ups."""
