"""`manage.py stack`: the CloudFormation template of the console, as `deploy/aws/console.json` has it."""

from typing import Any

from console.stack.template import stack_text
from console.startup import ConsoleCommand


class Command(ConsoleCommand):
    """It asks nothing of AWS: what differs between environments are parameters."""

    help = "Print the CloudFormation template: tables, queues, IAM, Lambdas, containers and alarms. See docs/aws.md."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print it."""
        self.stdout.write(stack_text(), ending="")
