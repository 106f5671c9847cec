"""Lists of conversations as files: what is read (`reading`), the rows (`rows`), and what is recorded (`service`)."""
