"""Actions and hand-offs per day: counted from a review (`counting`), and drawn (`drawing`)."""
