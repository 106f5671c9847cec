"""`manage.py seed`: write the demo's data to a DynamoDB that is already running, for compose.yaml."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from console import clock
from console.errors import ConsoleError
from console.schema.environments import is_local_endpoint
from console.staff import passwords
from console.startup import ConsoleCommand
from console.store.calls import budget, table_name
from console.store.connection import call
from demo.dialogues import DialogueError
from demo.items import create_tables, fill_tables
from demo.platform import fill_queue
from demo.staff import SIGN_INS, create_staff

# Written last, to mark that everything was written. No page reads it.
MARK = {"pk": {"S": "DEMO"}, "sk": {"S": "SEEDED"}}


class Command(ConsoleCommand):
    """Create the missing tables and fill them once; later changes by people are kept."""

    help = "Create all tables and fill them with the demo's accounts and data, once; needs the queues of the platform."

    def handle(self, *args: Any, **options: Any) -> None:
        """Create and fill the tables, and print the sign-ins. Raises `CommandError` after a run that did not finish."""
        if not is_local_endpoint(settings.DYNAMODB_ENDPOINT) or not is_local_endpoint(settings.SQS_ENDPOINT):
            raise CommandError("The demo's people are made up. Set DYNAMODB_ENDPOINT and SQS_ENDPOINT, away from AWS.")
        try:
            with budget(None):
                self._seed()
        except ConsoleError as error:
            raise CommandError(str(error)) from error
        except DialogueError as error:
            raise CommandError(f"demo/dialogues/{error}") from error

    def _seed(self) -> None:
        table = table_name("CONSOLE")
        was_there = table in call("ListTables")["TableNames"]
        create_tables()
        if "Item" in call("GetItem", TableName=table, Key=MARK, ConsistentRead=True):
            self.stdout.write("The demo's data is there already. Nothing was changed.")
            return
        if was_there:
            raise CommandError("An earlier run did not finish. Remove its data: docker compose down --volumes")
        password = passwords.generate()
        create_staff(password)
        fill_tables(clock.now())
        fill_queue(clock.now())
        call("PutItem", TableName=table, Item=MARK)
        people = ", ".join(f"{username} ({role})" for role, username in SIGN_INS.items())
        self.stdout.write(f"The demo's data is there. Sign in as {people}.\nPassword, shown only this once: {password}")
