"""How the console is seen from outside: what log lines carry, metrics, traces and error reports.

None of it holds personal data: a request is its route, an item is its table, a person is a role.
"""
