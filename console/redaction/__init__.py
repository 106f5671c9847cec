"""Redaction of personal data: pure, idempotent, in linear time, without I/O.

The rules, and where each is written:

 1. Keys decide first ............ keys.py (words of keys → Kind, masks by kind), fields.py (`key=value` in text)
 2. Safe keys exempt safe values . keys.py (Kind.SAFE, Kind.ID), walk.py (redact_number), documents.py (_Strings)
 3. What must survive; the rest of seven digits or more is masked ... shapes.py (harmless_shapes, long_numbers)
 4. Epochs stay, unless a phone word is near ........................ shapes.py (epochs, phone_word_near)
 5. Conversation ids and idempotency keys ........................... identifiers.py (conversation_ids), shapes.py
 6. WhatsApp message ids ......... identifiers.py (whatsapp_ids)
 7. Decode before matching ....... text.py (Decoded); keys of dictionaries are redacted in documents.py and walk.py
 8. JSON cut off, or in text ..... walk.py (a walk over its tokens), never parsed and never passed unredacted
 9. Keyed digests only ........... masks.py (pseudonym)
10. Nothing worse than linear .... patterns with bounds or possessive quantifiers (of single characters: Python before
    3.11.5 repeats possessive groups wrongly); the hostile inputs among the tests
11. Unknown objects fail closed .. documents.py (Redaction.of)

Emails are in identifiers.py; order and tracking numbers, and links to parcels, in fields.py; credentials, for pages,
logs and configuration alike, in credentials.py; names of known people in names.py. What people say about themselves is
in phrases.py, said_names.py and said_places.py; what they hide from machines in spelled.py. The
words of all languages are data: words.py, which lexicon.py makes patterns of. A rule that needs words runs only where
one of them may be.

A text goes through documents.py: JSON is rewritten in place (walk.py); strings and plain text are matched by the rules
of text.py, in the order of the tables there, and each mask is put into the original text, so that everything around it
keeps its characters. Structured values, such as items, are redacted without serializing them.

To change what is masked, change a word in words.py or keys.py, or a pattern beside its rule; what must stay readable
is in shapes.py. Then increase RULESET_VERSION.
"""

from console.redaction.documents import BEGINNING, MARGIN, RedactedMemo, beginning_of, excerpt, redact, redact_value
from console.redaction.masks import cut, mask_identifier, pseudonym
from console.redaction.names import without_names

__all__ = [
    "BEGINNING",
    "MARGIN",
    "RULESET_VERSION",
    "RedactedMemo",
    "beginning_of",
    "cut",
    "excerpt",
    "mask_identifier",
    "pseudonym",
    "redact",
    "redact_value",
    "without_names",
]

# Stored with redacted data, so that a reader knows which rules were applied.
RULESET_VERSION = "12"
