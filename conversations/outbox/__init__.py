"""A message of a conversation, whoever wrote it: its row, its state, and how it joins the item."""
