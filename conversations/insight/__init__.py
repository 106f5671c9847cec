"""Insight: what the AI resolves, what it costs, where it fails, how long people wait.

The indexer writes one *fact* for each episode of a conversation, from the current item and its trail (`episodes`,
`hand_offs`, `writing`). Walks over the other stores (`walking`) find more *sources* of facts. All facts are written in
one way (`sources`): replaced, never added to, so that nothing is counted twice. `rolling` sums up the facts of a day
for each company, project and channel. Pages read these sums (`sums`), and the facts behind a number on demand
(`drill_down`). What is counted of a fact is defined in `measures` alone; `reports` are tables of these measures. Facts
contain only pseudonyms, and outlive the items they count.
"""
