# The exporter's image: build it with `make image` (docker or podman). Try it with `docker run --rm -p 127.0.0.1:9877:9877
# localhost/edge-exporter:0.2.0 demo --listen :9877`. For an account, see deploy/README.md.
#
# Both stages use the same base, because a virtual environment links to the Python that made it. A release sets the base
# image by its digest (.github/workflows/image.yml).
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# Dependencies come first: this layer is built again only when the lock files of `make lock` change. The shipped
# environment contains neither pip nor the build tools.
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
# The build has no git, so the version is an argument.
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
# The only folder that is written to. A new volume that is mounted here gets this owner.
RUN install --directory --owner=65532 --group=65532 --mode=0750 /var/lib/edge-exporter

ENV PATH=/opt/edge-exporter/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CONTAINER_LISTEN=:9877

USER 65532:65532
# The default folder of the state file.
WORKDIR /var/lib/edge-exporter
VOLUME /var/lib/edge-exporter
EXPOSE 9877
# Set HEALTHCHECK_URL for another port, web.route_prefix, TLS, or the sandbox (port 9878, /sandbox/clock).
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
    CMD ["python", "-m", "exporter.commands.health_check"]
ENTRYPOINT ["edge-exporter"]
CMD ["run"]
