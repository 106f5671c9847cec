"""Conversations that need a person's attention unasked, deadlines for people's answers, and urgency."""
