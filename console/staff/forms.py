"""The forms for signing in and for setting a password with a link."""

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.views.decorators.debug import sensitive_variables

from console.staff.passwords import MAX_LENGTH

# One text for every reason, so that it does not reveal which names exist.
REFUSED = "Username and password do not match an account that can sign in. Check both and try again."
CODE_REFUSED = "This code is wrong, expired or already used. Wait for the next one and enter that."
_PLAIN = {"autocapitalize": "none", "autocorrect": "off", "spellcheck": "false"}


def password_field(label: str, autocomplete: str, required: str, help_text: str = "") -> forms.CharField:
    """Return a field for a password, which is taken as typed and never sent back."""
    return forms.CharField(
        label=label,
        strip=False,
        max_length=MAX_LENGTH,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": autocomplete}),
        error_messages={"required": required},
    )


class SignInForm(forms.Form):
    """Username and password; malformed values are refused like any wrong pair."""

    username = forms.CharField(
        max_length=256,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True, **_PLAIN}),
        error_messages={"required": "Enter your username."},
    )
    password = password_field("Password", "current-password", "Enter your password.")


class CodeForm(forms.Form):
    """The second step: a code of the authenticator app or a recovery code, and the sealed first step."""

    code = forms.CharField(
        max_length=100,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True, **_PLAIN}
        ),
        help_text="The six digits from your authenticator app, or one of your recovery codes.",
        error_messages={"required": "Enter the code.", "max_length": "That is too long for a code."},
    )
    pending = forms.CharField(required=False, max_length=1000, widget=forms.HiddenInput)


class SetPasswordForm(forms.Form):
    """A link's code and a new password, twice. Passwords are never sent back."""

    code = forms.CharField(
        label="Code from the link",
        max_length=1000,
        widget=forms.TextInput(attrs={"autocomplete": "off", "data-from-fragment": True, **_PLAIN}),
        help_text="If this is empty, paste the part of your link after the #.",
        error_messages={"required": "Paste the part of your link after the #."},
    )
    password = password_field(
        "New password",
        "new-password",
        "Enter a password.",
        f"At least {settings.PASSWORD_MIN_LENGTH} characters, unlike your username or name, and hard to guess. A few "
        "unrelated words are strong and easy to type.",
    )
    repeated = password_field("The same password again", "new-password", "Enter the password again.")

    def clean_code(self) -> str:
        """Return the code, which in a full link is the part after the #."""
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()

    @sensitive_variables()
    def clean_repeated(self) -> str:
        """Check that both passwords are equal."""
        repeated = str(self.cleaned_data["repeated"])
        if "password" in self.cleaned_data and repeated != self.cleaned_data["password"]:
            raise ValidationError("The passwords do not match. Enter both again.")
        return repeated
