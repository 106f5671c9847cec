"""What needs a person's attention without a request, when people must answer, and what is urgent."""
