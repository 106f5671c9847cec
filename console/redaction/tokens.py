"""The tokens of JSON text, as far as redaction needs to tell them apart."""

import re

from console.redaction.shapes import FREQUENT_SHAPE, NOTHING_SUSPICIOUS_UNQUOTED, WHOLE_NUMBER

# The groups of TOKEN, by what was found. A member is a key with its value, all in one token, as most are.
KEY = 1
MEMBER_PLAIN = 2  # a value that no rule could mask unless its key is sensitive
MEMBER_STRING = 3
MEMBER_MARK = 4
MEMBER_BARE = 5
STRING, CLOSING_QUOTE, COLON = 6, 7, 8  # a string, whole where it has a closing quote, a key where a colon is behind
MARK = 9
BARE = 10  # a number or a literal
OTHER = 11  # what is no JSON

TOKEN = re.compile(
    rf"""
    "([^"\\]*+)"\s*+:\s*+(?:
        (   "(?:{NOTHING_SUSPICIOUS_UNQUOTED}|{FREQUENT_SHAPE})"
          | {WHOLE_NUMBER}
          | true | false | null
        )(?=\s*+[,}}\]])
      | "((?:[^"\\]++|\\.)*)"(?!\s*+:)
      | ([{{\[])
      | ([^\s"{{}}\[\],]++)(?=\s*+(?:[,}}\]]|\Z))
    )
    | "((?:[^"\\]++|\\.)*)(?:(")(\s*+:)?|\\?\Z)
    | ([{{}}\[\]])
    | ([^\s"{{}}\[\],]++)(?=\s*+(?:[,}}\]]|\Z))
    | ([^\s,])
    """,
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?")
LITERALS = frozenset({"true", "false", "null", "NaN", "Infinity", "-Infinity"})
CUT_LITERAL = re.compile(r"t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-|-?[0-9]++(?:\.|(?:\.[0-9]*+)?[eE][+\-]?)")
