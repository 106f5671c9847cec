"""`manage.py stack`: the console's CloudFormation template, also stored in `deploy/aws/console.json`."""

from typing import Any

from console.stack.template import stack_text
from console.startup import ConsoleCommand


class Command(ConsoleCommand):
    """Makes no call to AWS: whatever differs between environments is a parameter of the template."""

    help = "Print the CloudFormation template: tables, queues, IAM, Lambdas, containers and alarms. See docs/aws.md."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the template."""
        self.stdout.write(stack_text(), ending="")
