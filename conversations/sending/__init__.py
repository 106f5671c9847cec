"""Replies of people: written in the console, sent once from the company's own number, and recorded in the trail.

`outbox` accepts a reply, `worker` is the process that sends, `delivering` hands one reply to its provider, `deliveries`
asks for its delivery state, `providers` are the adapters, and `templates` has the texts that WhatsApp takes after its
24 hours.
"""
