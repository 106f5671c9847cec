"""What becomes due without anybody's doing."""
