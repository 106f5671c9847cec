"""The assistant's threads (schema thread-history): an organisation's and a user's, their messages, and feedback."""
