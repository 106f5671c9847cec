"""The rows of the queue's index: the state of each conversation, and the summaries of partitions."""
