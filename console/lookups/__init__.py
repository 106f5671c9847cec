"""The pages on which people are looked up, and the record of who looked."""
