"""Notifications to a company's own systems: signed webhooks, Amazon SNS topics and emails.

`notification` describes what happened, `destinations` has the receivers, `deliveries` stores notifications on their
way, `webhooks` and `amazon` reach a destination, and `notifier` delivers what is due.
"""
