"""Telling a company's own systems what happens: signed webhooks, Amazon SNS topics and emails.

`notification` says what happened, `destinations` who wants to know, `deliveries` keeps what is on its way, `senders`
reach a destination, and `notifier` brings what is due.
"""
