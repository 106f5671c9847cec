"""Exports of lists of conversations: reading the list (`reading`), its rows (`rows`) and the export (`service`)."""
