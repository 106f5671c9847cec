"""The timeline's filter: kinds of lines, as checkboxes of a GET form."""

from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from conversations.timeline.lines import KIND_WORDS, LineKind


class KindsForm(forms.Form):
    """Which kinds are shown; all of them where none is chosen. Junk is dropped."""

    kind = forms.MultipleChoiceField(
        required=False,
        label="Show",
        choices=[(kind.value, words) for kind, words in KIND_WORDS.items()],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: QueryDict) -> None:
        chosen = [kind for kind in LineKind if kind.value in data.getlist("kind")]
        self.kinds: tuple[LineKind, ...] = tuple(chosen) or tuple(LineKind)
        super().__init__(initial={"kind": [kind.value for kind in self.kinds]}, auto_id="timeline-%s")

    @property
    def is_filtered(self) -> bool:
        """Whether some kinds are left out."""
        return len(self.kinds) < len(LineKind)

    def query(self, **more: str) -> str:
        """The filter, and what else is given, as a query with its question mark; "" where there is nothing to say."""
        pairs = [("kind", kind.value) for kind in self.kinds] if self.is_filtered else []
        pairs += [(name, value) for name, value in more.items() if value]
        return f"?{urlencode(pairs)}" if pairs else ""
