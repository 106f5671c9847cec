"""The queue: the conversations that wait for a human or are held, longest wait first (data model, sections 2 to 4).

`reading` reads a page; `pages` defines rows, filters and pages; `form` is the filters' form; `counting` counts who
waits and how long; `actions` acts on the queue as a whole, and `selection` on the rows that a person selected.
"""
