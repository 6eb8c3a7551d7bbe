#!/usr/bin/env bash
# Unpacks programs of newer Debian releases for the tests: Prometheus 2.53 and 3, VictoriaMetrics, and a kubectl that
# knows today's kustomizations.
# Needs apt-get and Debian's archive keys, but not root, because nothing is installed. The programs are put into folders below
# ${XDG_CACHE_HOME:-~/.cache}/edge-exporter/parts; existing folders are kept. To update a program, remove its folder.
set -euo pipefail
parts=${XDG_CACHE_HOME:-$HOME/.cache}/edge-exporter/parts
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$parts"
exec 9>"$parts/.lock"
flock 9
work=$(mktemp -d -p "$parts")
trap 'rm -rf "$work"' EXIT

# The archive that this machine uses; Debian's own if apt names none.
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | awk '/\/debian\/?$/ {print; exit}')

apt() { # apt COMMAND…: runs apt-get with only the packages of $release
	apt-get -qq -o Dir::State::Lists="$work/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$work/cache" \
		-o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

unpack() { # unpack FOLDER PROGRAM…: unpacks the package of each program, which has the program's name
	local folder=$parts/$1
	shift
	if [ -d "$folder" ]; then return; fi
	rm -rf "$work"/*
	mkdir -p "$work/programs" "$work/lists/partial" "$work/cache/archives/partial"
	echo "deb [signed-by=$keyring] ${archive:-http://deb.debian.org/debian} $release main" >"$work/sources.list"
	apt update
	(cd "$work" && apt download "$@")
	for package in "$work"/*.deb; do dpkg -x "$package" "$work/unpacked"; done
	for program in "$@"; do mv "$work/unpacked/usr/bin/$program" "$work/programs"; done
	mv "$work/programs" "$folder"
}

release=trixie unpack prometheus-2.53 prometheus promtool
release=forky unpack prometheus-3 prometheus promtool
release=forky unpack victoria-metrics victoria-metrics
release=trixie unpack kubectl kubectl
