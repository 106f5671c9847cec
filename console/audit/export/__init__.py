"""Exports of a review as a file: its rows (`rows`), and recording the export before sending it (`streaming`)."""
