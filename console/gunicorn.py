"""How gunicorn serves the console: `gunicorn console.wsgi --config python:console.gunicorn`.

What is given on the command line comes first. WEB_CONCURRENCY sets the number of workers.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

from django.conf import settings

bind = "127.0.0.1:8000"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 8
# Addresses carry sealed references of up to 8 KB.
limit_request_line = 8190
# No header of a client says where the console is mounted, or which path was asked for.
forwarder_headers = ""
# Nobody needs a socket by which workers can be changed while they run.
control_socket_disable = True
# As all other lines: masked, and JSON for machines.
logconfig_dict = settings.LOGGING

_made = ""
if settings.METRICS_TOKEN and not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    # Before anything is counted: the workers count in files that they share, so that each can tell of all.
    _made = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="console-metrics-")


def on_starting(server: Any) -> None:
    """Forget what an earlier start counted in a directory that is kept."""
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for each in Path(folder).glob("*.db"):
            each.unlink()


def child_exit(server: Any, worker: Any) -> None:
    """A worker that has ended is no longer alive in the metrics; what it counted stays."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    """Remove the directory that was made above."""
    if _made:
        shutil.rmtree(_made, ignore_errors=True)
