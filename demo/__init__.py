"""The demo: the console on this machine with an embedded DynamoDB and data. It is above all apps; none imports it.

Dialogues are in `dialogues/`; companies, staff and tenants are in `*.toml`, so that people can edit them without
Python. The modules here turn them into items of the stores.
"""
