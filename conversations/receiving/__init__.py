"""Messages that customers write while people have their conversation: from the platform's hand-off queue to the page.

`bodies` parses the queue's messages, `stage` reads what the platform stages, `placing` finds the conversation,
`recording` writes the message once, `appending` adds it to the conversation's item, and `handling` does all of this in
an order in which nothing is lost.
"""
