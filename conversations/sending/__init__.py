"""Replies of people: written here, sent once from the company's own number, and on record."""
