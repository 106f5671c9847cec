"""Replies of people: written in the console, sent once from the company's own number, and on record.

`outbox` accepts a reply, `worker` is the process that sends, `delivering` brings one reply to its customer,
`deliveries` asks what became of it, `providers` are what it goes through, `templates` what WhatsApp takes after its 24
hours, `reading` what pages show.
"""

from conversations.sending.lambda_entry import lambda_handler

__all__ = ["lambda_handler"]
