# The console in one image. It starts the web server; give it another command for the work beside the servers
# (`python manage.py work`) or for anything else of manage.py. docs/install.md says how to build and run it.

# A Debian with Python 3.11 as `python3`. A digest makes builds repeatable: --build-arg BASE=python@sha256:…
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
# requirements/observability.txt adds traces and error reports.
ARG REQUIREMENTS=requirements/prod.txt
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /opt/console
COPY ${REQUIREMENTS} /tmp/requirements.txt
# A package index of your own: docker build --secret id=pip.conf,src=… . None of it is in the image.
RUN --mount=type=cache,target=/root/.cache/pip --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    python3 -m venv /opt/venv \
    && pip install --quiet --no-compile --require-hashes --only-binary :all: --no-binary quotequail -r /tmp/requirements.txt \
    && pip uninstall --quiet --yes pip setuptools \
    # By hash: the times of files change on their way into the image, and nothing can be compiled there.
    && python -m compileall -q --invalidation-mode unchecked-hash /opt/venv/lib
COPY manage.py LICENSE ./
COPY console console
COPY conversations conversations
COPY static static
COPY templates templates
COPY tenants tenants
RUN python manage.py collectstatic --noinput \
    && python -m compileall -q --invalidation-mode unchecked-hash .

FROM ${BASE} AS runtime
# Nothing is installed from here on. Python's own library comes uncompiled, and each health check would compile it anew.
RUN if python3 -m pip --version >/dev/null 2>&1; then python3 -m pip uninstall --yes --root-user-action ignore pip setuptools wheel; fi \
    && python3 -m compileall -q -x "test|lib2to3" "$(python3 -c "import sysconfig; print(sysconfig.get_path('stdlib'))")"
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/console /opt/console
# gunicorn's workers show on a file that they are alive: in memory, where no slow disk holds them up.
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 GUNICORN_CMD_ARGS="--worker-tmp-dir /dev/shm"
WORKDIR /opt/console
USER 10001:10001

# Creates the tables and fills them with the demo's data: for compose.yaml.
FROM runtime AS demo
USER 0
# The volumes of compose.yaml belong to who owns these.
RUN install -d -o 10001 -g 10001 /secrets /tls /data
USER 10001:10001
COPY demo demo
ENV DJANGO_SETTINGS_MODULE=demo.settings
CMD ["python", "manage.py", "seed"]

FROM runtime AS console
ARG VERSION=0.3.0
ARG REVISION=""
ARG SOURCE=""
LABEL org.opencontainers.image.title="Conversation Console" \
    org.opencontainers.image.description="Web console for the people behind AI conversations" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.source="${SOURCE}"
EXPOSE 8000
# gunicorn and `manage.py work` finish what they have begun.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["gunicorn", "console.wsgi", "--config", "python:console.gunicorn", "--bind", "0.0.0.0:8000"]
