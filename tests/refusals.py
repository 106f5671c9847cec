"""What the settings as they are keep from starting."""

from django.core import checks

from console.startup import SAFETY, WEB


def refused() -> str:
    """Each refusal in a line, as "id: message"; "" where everything may start, the web server included."""
    found = checks.run_checks(tags=[SAFETY, WEB], include_deployment_checks=True)
    return "\n".join(sorted(f"{each.id}: {each.msg}" for each in found))
