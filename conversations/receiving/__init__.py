"""Messages that customers write while people have their conversation: from the platform's hand-off queue to the page.

`handling` does the steps in an order in which nothing is lost: `messages/bodies.py` parses what the queue brought (and
`stage` reads what the platform stages), `outbox/placing.py` finds the conversation, `recording` writes the message
once, and `outbox/appending.py` adds it to the conversation's item. `worker` runs it; docs/receiving.md explains it.
"""
