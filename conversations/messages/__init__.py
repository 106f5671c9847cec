"""What an item says: its messages, the transcript that people read, and its facts."""
