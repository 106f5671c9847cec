"""`manage.py ring_timers`: look at conversations again when time alone may have changed what they need."""

from conversations.timers.looking import Timers
from conversations.work.parts import PartCommand


class Command(PartCommand):
    """Ring the timers until a signal. Of several processes, one works and the others stand by."""

    help = (
        "Find conversations that are stuck, unanswered or overdue, and put those that their holder forgot back in the "
        "queue. Runs until stopped."
    )
    part, origin, label = Timers, "timers", "Timers"
