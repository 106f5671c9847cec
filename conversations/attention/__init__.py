"""Who needs a person's attention though nobody asked for one, by when people are to answer, and what is urgent."""
