"""What people type to sign in."""

from django import forms

from console.staff.passwords import MAX_LENGTH

# One text for every reason, so that it tells nobody which names exist.
REFUSED = "Username and password do not match an account that can sign in. Check both and try again."


class SignInForm(forms.Form):
    """Username and password; any junk in them is simply refused as a wrong pair."""

    username = forms.CharField(
        max_length=256,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "username",
                "autocapitalize": "none",
                "autocorrect": "off",
                "spellcheck": "false",
                "autofocus": True,
            }
        ),
        error_messages={"required": "Enter your username."},
    )
    password = forms.CharField(
        strip=False,
        max_length=MAX_LENGTH,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Enter your password."},
    )
