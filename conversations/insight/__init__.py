"""What conversations cost and how they go: prices of tokens (`prices`), and the totals of one conversation (`totals`).

Nothing here reads the store: it computes from what a page or a worker has read anyway.
"""
