# The exporter as an image: `docker build -t edge-exporter .`, or podman. `docker run --rm -p 127.0.0.1:9877:9877
# edge-exporter demo --listen :9877` needs nothing else; deploy/README.md says how it is run for real.
#
# Both stages start from the same Python, because a virtual environment holds links to the one that made it.
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# The dependencies first: this layer stands until pyproject.toml changes. pip stays outside of what is shipped.
COPY pyproject.toml ./
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv --without-pip /opt/edge-exporter \
    && python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*p["dependencies"], *p["optional-dependencies"]["postgres"], sep="\n")' \
        > requirements.txt \
    && python -m pip --python /opt/edge-exporter/bin/python install --requirement requirements.txt
COPY README.md LICENSE ./
COPY exporter exporter
COPY deploy/prometheus deploy/prometheus
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m pip wheel --no-deps --wheel-dir dist . \
    && python -m pip --python /opt/edge-exporter/bin/python install --no-deps dist/*.whl

FROM ${PYTHON_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="edge-exporter" \
    org.opencontainers.image.description="A Prometheus exporter for an edge platform" \
    org.opencontainers.image.source="https://github.com/edge-exporter/edge-exporter" \
    org.opencontainers.image.documentation="https://github.com/edge-exporter/edge-exporter/blob/main/deploy/README.md" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"

COPY --from=build /opt/edge-exporter /opt/edge-exporter
# The only place that is written to: a volume that is mounted here for the first time takes over its owner.
RUN install --directory --owner=65532 --group=65532 --mode=0750 /var/lib/edge-exporter

ENV PATH=/opt/edge-exporter/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    EDGE_EXPORTER_WEB__LISTEN=:9877 \
    EDGE_EXPORTER_STATE__PATH=/var/lib/edge-exporter/edge-exporter-state.db

USER 65532:65532
WORKDIR /var/lib/edge-exporter
VOLUME /var/lib/edge-exporter
EXPOSE 9877
# It follows --listen; HEALTHCHECK_URL is for those who set web.route_prefix or serve TLS.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
    CMD ["python", "-m", "exporter.commands.health_check"]
ENTRYPOINT ["edge-exporter"]
CMD ["run"]
