"""The queue: who waits for a human and who has whom, longest wait first (data model, sections 2 to 4).

`reading` is what pages call. It reads the sparse index (`indexed`: one Query per company, whatever the company's size)
where that is there and filled, and else looks through each company within a budget (`filtered`), saying so. `entries`
are its rows, `filters` what narrows it, `counting` how many wait and are held (cached for seconds), `taking` the
longest waiting, `times` how long people wait now, `unread` what customers wrote since one last looked.
"""
