"""Insight: what the AI resolves, what it costs, where it fails, how long people wait.

The indexer writes one *fact* for each episode of a conversation, from the current item and its trail (`episodes`,
`hand_offs`, `writing`). Walks over the other stores write their facts in the same way (`walking`, `subjects`). A fact
is replaced, never added to, so that nothing is counted twice. `rolling` sums up the facts of a day for each company,
project and channel. Pages read these sums (`reading`), and the facts behind a number on demand (`behind`). `measures`
is the only place that defines what is counted. Facts contain only pseudonyms, and outlive the items they count.
"""
