"""What customers write while people have their conversation: from the platform's hand-off queue to page and item.

`bodies` understands what stands in the queue, `stage` what the platform stages, `placing` finds the conversation,
`recording` writes the message once, `appending` puts it onto the conversation's own item, `handling` does all of it in
the order in which nothing is lost.
"""

from conversations.receiving.lambda_entry import lambda_handler, stage_lambda_handler

__all__ = ["lambda_handler", "stage_lambda_handler"]
