"""The names of the secrets with the companies' credentials, as the patterns of SECRET_NAMES.

A pattern begins with fixed text. `{company}`, between slashes and before any wildcard, stands for the id of the company
whose conversation names the secret; `*` and `?` are IAM's wildcards.
"""

import re

from django.conf import settings

COMPANY = "{company}"
_FIXED = r"[A-Za-z0-9_+=.@/-]"
# A wildcard in front would match the secrets of everything else in the account; before {company}, it could match
# another company's id.
PATTERN = rf"{_FIXED}{{3,}}((?<=/)\{{company\}}(/({_FIXED}|[*?])*)?|[*?]({_FIXED}|[*?])*)?"


def is_narrow(pattern: str) -> bool:
    """Return whether a pattern is one of the form above, which does not match everything."""
    return re.fullmatch(PATTERN, pattern) is not None


def iam_pattern(pattern: str) -> str:
    """Return a pattern as IAM knows it, of all companies."""
    return pattern.replace(COMPANY, "*")


def is_secret_of(name: str, company_id: str) -> bool:
    """Return whether a secret's name matches SECRET_NAMES, and carries the company's id where the pattern says so."""
    return any(_matches(pattern, name, company_id) for pattern in settings.SECRET_NAMES if is_narrow(pattern))


def _matches(pattern: str, name: str, company_id: str) -> bool:
    if COMPANY in pattern and (not company_id or "/" in company_id):
        return False
    parts = {"*": ".*", "?": ".", COMPANY: re.escape(company_id)}
    pieces = re.split(r"(\*|\?|\{company\})", pattern)
    return re.fullmatch("".join(parts.get(each, re.escape(each)) for each in pieces), name, re.DOTALL) is not None
