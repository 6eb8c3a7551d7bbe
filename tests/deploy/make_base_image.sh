#!/bin/sh
# Makes an image with the name of the Dockerfile's base from Debian's packages, for a machine without access to a registry.
# Needs mmdebstrap and podman. The image gets this machine's trusted certificate authorities and its pip.conf.
set -eu
name=$(sed -n 's/^ARG PYTHON_IMAGE=//p' "$(dirname "$0")/../../Dockerfile")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mmdebstrap --quiet --variant=minbase --include=ca-certificates,python3,python3-venv,python3-pip \
	--customize-hook='ln -s python3 "$1/usr/bin/python"' \
	--customize-hook='cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"' \
	--customize-hook='if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$1/etc/pip.conf"; fi' \
	trixie "$folder/base.tar"
podman import "$folder/base.tar" "$name"
