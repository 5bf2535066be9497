#!/bin/sh
# dependencies.sh - installs the Debian packages that are missing for the sets given: build demo check mpi.
# Without root or sudo it prints what to install and stops with status 1.
set -eu
packages() {
    case $1 in
    build) echo gcc make libc6-dev libyaml-dev libjansson-dev libpcre2-dev libjq-dev libutf8proc-dev zlib1g-dev libzstd-dev libsqlite3-dev libcmocka-dev ;;
    demo) echo jq bible-kjv fortunes fortunes-min ;;
    check) echo clang clang-format clang-tidy cppcheck libclang-rt-14-dev strace python3-numpy ;;
    mpi) echo libopenmpi-dev openmpi-bin ;;
    *) echo "dependencies: unknown set $1; there are: build demo check mpi" >&2; exit 2 ;;
    esac
}
missing=
for set in "$@"; do
    for package in $(packages "$set"); do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing="$missing $package"
    done
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "dependencies: this is no Debian system; the equivalents of these packages are needed:$missing" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "dependencies: please install, as root:  apt-get install$missing" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
