"""The chatbot's sessions, chats, messages and images (schema chatbot-sessions): found by phone, read, and ended."""
