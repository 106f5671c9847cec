"""Gunicorn configuration: `gunicorn console.wsgi --config python:console.gunicorn`.

Command-line options take precedence. WEB_CONCURRENCY sets the number of workers.
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
# URLs contain sealed references of up to 8 KB.
limit_request_line = 8190
# Trust no client header for the mount point or the path.
forwarder_headers = ""
# No socket that could reconfigure running workers.
control_socket_disable = True
# Gunicorn's lines are masked and formatted like all others.
logconfig_dict = settings.LOGGING

_made = ""
if settings.METRICS_TOKEN and not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    # Set before anything is counted: workers count in shared files, so that each can report the sum.
    _made = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="console-metrics-")


def on_starting(server: Any) -> None:
    """Delete the counts of an earlier start from a directory that outlives it."""
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for each in Path(folder).glob("*.db"):
            each.unlink()


def child_exit(server: Any, worker: Any) -> None:
    """Mark an exited worker as dead in the metrics; its counts stay."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    """Remove the directory of metrics if this module made it."""
    if _made:
        shutil.rmtree(_made, ignore_errors=True)
