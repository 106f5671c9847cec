"""Insight: what the AI resolves, what it costs, where it fails, how long people wait.

The indexer writes one *fact* for each episode of a conversation, made from the item and its trail as they are then
(`episodes`, `hand_offs`, `writing`); those of the other stores are written alike, by walks over these (`walking`,
`subjects`). A fact is replaced, never added to, so that nothing is counted twice. `rolling` sums the facts of a day up,
for each company, project and channel; pages read these sums (`reading`), and the facts behind a number where somebody
asks for them (`behind`). What is counted is said once, in `measures`. Facts hold pseudonyms only, and outlive what they
tell of.
"""
