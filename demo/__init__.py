"""The demo: the console on this machine with an embedded DynamoDB and data. It lies above all apps; none imports it.

What people say is in `dialogues/`, companies, staff and tenants in `*.toml`: text, to be read and edited without
Python. The modules here make the items of the stores out of it.
"""
