"""What a review finds as a file: rows and formats (`formats`), and the stream (`streaming`)."""
