"""The queue: who waits for a human and who has whom, longest wait first (data model, sections 2 to 4).

`reading` reads a page of it, `pages` says what a page holds, `form` its filters, `counting` how many wait and how long,
`actions` what is done to it as a whole, `unread` what customers wrote since a person last looked.
"""
