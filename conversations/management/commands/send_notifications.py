"""`manage.py send_notifications`: send notifications to companies' webhooks, topics and email addresses."""

from conversations.notifications.notifier import Notifier
from conversations.work.parts import PartCommand


class Command(PartCommand):
    """Send notifications until a signal. Of several processes, one works and the others stand by."""

    help = "Send due notifications to their destinations, and retry those that failed. Runs until stopped."
    part, origin, label = Notifier, "notifier", "Notifications"
