"""Text from elsewhere inside our sentences: its direction must not reorder the words around it."""

import re

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
# Hebrew and Arabic letters, and the controls that embed, override and isolate.
_REORDERS = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ISOLATES = re.compile("[\u2066-\u2069]")
# These end a paragraph, and with it every isolate.
_PARAGRAPH_ENDS = re.compile("[\n\r\x1c-\x1e\x85\u2029]+")


def isolated(text: str) -> str:
    """Isolate a stored text inside a sentence, so that it keeps its direction to itself.

    Text that cannot reorder anything is returned as it is. A template does the same with <bdi>.
    """
    if not _REORDERS.search(text):
        return text
    text = _PARAGRAPH_ENDS.sub(" ", text)
    kept: list[str] = []
    depth, end = 0, 0
    for control in _ISOLATES.finditer(text):
        opens = control.group() != _POP_ISOLATE
        kept.append(text[end : control.start()])
        # A surplus closing control would end our own isolate.
        kept.append(control.group() if opens or depth else "")
        depth, end = max(0, depth + (1 if opens else -1)), control.end()
    return f"{_FIRST_STRONG_ISOLATE}{''.join(kept)}{text[end:]}{_POP_ISOLATE * depth}{_POP_ISOLATE}"


def spelled_out(json_text: str) -> str:
    """Escape the reordering controls in JSON text, which means the same: shown raw, they would reorder it."""
    return _CONTROLS.sub(lambda control: f"\\u{ord(control.group()):04x}", json_text)
