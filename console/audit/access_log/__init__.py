"""The access log: who opened, revealed, searched for and exported what, by person, by conversation and by customer."""
