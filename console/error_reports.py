"""Error reports: what Django shows to developers, or mails to administrators where that is set up."""

from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

from console.logs import without_secrets


class RedactingReporter(ExceptionReporter):
    """A report that is masked as a whole: the error, the values of variables, the request and the settings."""

    def get_traceback_text(self) -> SafeString:
        """The report as plain text."""
        return SafeString(without_secrets(super().get_traceback_text()))  # plain text  # nosec B308 B703

    def get_traceback_html(self) -> SafeString:
        """The report as a page."""
        return SafeString(without_secrets(super().get_traceback_html()))  # escaped by Django  # nosec B308 B703
