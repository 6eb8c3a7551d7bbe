# The exporter as an image: `make image`, with docker or podman. `docker run --rm -p 127.0.0.1:9877:9877
# localhost/edge-exporter:0.2.0 demo --listen :9877` needs nothing else; deploy/README.md says how it is run for real.
#
# Both stages start from the same Python, because a virtual environment holds links to the one that made it. A release
# names the base with the digest that it found (.github/workflows/image.yml).
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# The dependencies first: this layer stands until the lock changes, which `make lock` writes. pip stays outside of what
# is shipped, and so does what builds the wheel.
COPY requirements requirements
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv --without-pip /opt/edge-exporter \
    && python -m pip --python /opt/edge-exporter/bin/python install --require-hashes --requirement requirements/image.txt \
    && python -m venv --without-pip /opt/build \
    && python -m pip --python /opt/build/bin/python install --require-hashes --requirement requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY dashboards dashboards
COPY deploy deploy
COPY exporter exporter
# There is no git in here to say which version it is.
ARG VERSION=0.2.0.dev0
ENV SETUPTOOLS_SCM_PRETEND_VERSION_FOR_EDGE_EXPORTER=${VERSION}
RUN python -m pip --python /opt/build/bin/python wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && python -m pip --python /opt/edge-exporter/bin/python install --no-deps --no-index dist/*.whl

FROM ${PYTHON_IMAGE}
ARG PYTHON_IMAGE
ARG VERSION=0.2.0.dev0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="edge-exporter" \
    org.opencontainers.image.description="A Prometheus exporter for an edge platform" \
    org.opencontainers.image.source="https://github.com/edge-exporter/edge-exporter" \
    org.opencontainers.image.documentation="https://github.com/edge-exporter/edge-exporter/blob/main/deploy/README.md" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.base.name="${PYTHON_IMAGE}"

COPY --from=build /opt/edge-exporter /opt/edge-exporter
# The only place that is written to: a volume that is mounted here for the first time takes over its owner.
RUN install --directory --owner=65532 --group=65532 --mode=0750 /var/lib/edge-exporter

ENV PATH=/opt/edge-exporter/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CONTAINER_LISTEN=:9877

USER 65532:65532
# Where the state's file is by default.
WORKDIR /var/lib/edge-exporter
VOLUME /var/lib/edge-exporter
EXPOSE 9877
# HEALTHCHECK_URL is for another port, web.route_prefix, TLS, or the sandbox (port 9878, /sandbox/clock).
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
    CMD ["python", "-m", "exporter.commands.health_check"]
ENTRYPOINT ["edge-exporter"]
CMD ["run"]
