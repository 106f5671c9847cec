"""One box that finds anything: what was typed is recognised, and every store that may hold it is asked at once."""
