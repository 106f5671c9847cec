"""Telemetry: origins of log lines, metrics, traces and error reports.

None of it contains personal data: a request is its route, an item is its table, a person is a role.
"""
