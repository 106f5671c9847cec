"""The form that gives a conversation to a colleague or a group."""

from collections.abc import Iterable

from django import forms

from console.staff.colleagues import Colleague
from conversations.groups import Group
from conversations.handoff import HandOffAction
from conversations.handoff.service import MAX_TEXT

_COLLEAGUE, _GROUP = "colleague:", "group:"


class GiveForm(forms.Form):
    """Who gets a conversation, and why."""

    receiver = forms.ChoiceField(
        label="Who gets it",
        widget=forms.Select,
        error_messages={
            "required": "Choose a colleague or a group.",
            "invalid_choice": "Choose one of the listed colleagues.",
        },
    )
    why = forms.CharField(
        label="Why",
        max_length=min(MAX_TEXT, 300),
        help_text="Your colleagues see it, and it is recorded.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
        error_messages={"required": "Say why you are transferring it."},
    )

    def offer(self, colleagues: Iterable[Colleague], groups: Iterable[Group]) -> None:
        """Set the choices of the receiver."""
        self.fields["receiver"].choices = [  # type: ignore[attr-defined]
            ("", "Choose"),
            ("Colleagues", [(_COLLEAGUE + each.username, _named(each)) for each in colleagues]),
            ("Groups", [(_GROUP + each.id, each.name) for each in groups]),
        ]

    @property
    def to(self) -> tuple[HandOffAction, str]:
        """The action, and the username or group id of the receiver."""
        chosen: str = self.cleaned_data["receiver"]
        if chosen.startswith(_GROUP):
            return HandOffAction.HAND_OVER, chosen.removeprefix(_GROUP)
        return HandOffAction.ASSIGN, chosen.removeprefix(_COLLEAGUE)


def _named(colleague: Colleague) -> str:
    return f"{colleague.name} (away)" if colleague.is_away else colleague.name
