"""What a review finds as a file: cells that no spreadsheet runs (`cells`), formats, and the stream (`streaming`)."""
