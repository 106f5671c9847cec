"""What a review finds as a file: its rows (`rows`), and that it is recorded before it is sent (`streaming`)."""
