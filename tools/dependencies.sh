#!/bin/sh
# dependencies.sh - installs the Debian packages that are missing for the sets given: build demo check mpi; and cuda, a
# toolkit of NVIDIA's in the folder of builds (cuda_toolkit.sh).
#
# usage: tools/dependencies.sh SET...    on Debian and its kin, as root or with sudo; elsewhere it says what to install
#        tools/dependencies.sh --headers  whether the compiler (CC) finds what a build needs, and if not what to do
set -eu
packages() {
    case $1 in
    build) echo gcc make libc6-dev libyaml-dev libjansson-dev libpcre2-dev libjq-dev libutf8proc-dev zlib1g-dev libzstd-dev libsqlite3-dev libcmocka-dev ;;
    demo) echo jq bible-kjv fortunes fortunes-min ;;
    check) echo clang clang-format clang-tidy cppcheck libclang-rt-14-dev strace python3-numpy ;;
    mpi) echo libopenmpi-dev openmpi-bin ;;
    *) echo "dependencies: unknown set $1; there are: build demo check mpi cuda" >&2; exit 2 ;;
    esac
}

# The same packages elsewhere: Debian's name, then those of dnf, zypper and conda-forge.
elsewhere() {
    cat <<'NAMES'
gcc gcc gcc c-compiler
make make make make
libc6-dev glibc-devel glibc-devel -
libyaml-dev libyaml-devel libyaml-devel yaml
libjansson-dev jansson-devel libjansson-devel jansson
libpcre2-dev pcre2-devel pcre2-devel pcre2
libjq-dev jq-devel libjq-devel jq
libutf8proc-dev utf8proc-devel utf8proc-devel libutf8proc
zlib1g-dev zlib-devel zlib-devel zlib
libzstd-dev libzstd-devel libzstd-devel zstd
libsqlite3-dev sqlite-devel sqlite3-devel sqlite
libcmocka-dev libcmocka-devel libcmocka-devel cmocka
libopenmpi-dev openmpi-devel openmpi-devel openmpi
openmpi-bin openmpi openmpi -
clang clang clang clang
clang-format clang-tools-extra clang clang-tools
clang-tidy clang-tools-extra clang clang-tools
jq jq jq jq
cppcheck cppcheck cppcheck cppcheck
strace strace strace strace
python3-numpy python3-numpy python3-numpy numpy
NAMES
}

# The names in column $1 of the packages $2; those that have none there are left out.
names() {
    elsewhere | while read -r debian dnf zypper conda; do
        case " $2 " in *" $debian "*) ;; *) continue ;; esac
        case $1 in dnf) echo "$dnf" ;; zypper) echo "$zypper" ;; conda) echo "$conda" ;; esac
    done | while read -r name; do [ "$name" = - ] || printf '%s\n' "$name"; done | sort -u | tr '\n' ' '
}
advise() {
    echo "    dnf install $(names dnf "$1")"
    echo "    zypper install $(names zypper "$1")"
    echo "    conda install -c conda-forge $(names conda "$1")    (without root; then make CC=\$CC)"
} >&2

has_headers() {
    printf '#include <%s>\n' yaml.h jansson.h pcre2.h jq.h utf8proc.h zlib.h zstd.h sqlite3.h |
        ${CC:-cc} -DPCRE2_CODE_UNIT_WIDTH=8 -E -x c - >/dev/null 2>&1
}
if [ "${1:-}" = --headers ]; then
    has_headers && exit 0
    echo "The compiler ${CC:-cc} or libraries are missing: make dependencies" >&2
    exit 1
fi

missing= cuda=
for set in "$@"; do
    if [ "$set" = cuda ]; then
        cuda=yes
        continue
    fi
    for package in $(packages "$set"); do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing="$missing $package"
    done
done
[ -z "$cuda" ] || "$(dirname "$0")/cuda_toolkit.sh"
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    case " $* " in " build ") ! has_headers || exit 0 ;; esac
    echo "dependencies: this is no Debian system. What Debian calls$missing is, elsewhere:" >&2
    advise "$missing"
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "dependencies: please install, as root:  apt-get install$missing" >&2
        echo "or, without root:  conda install -c conda-forge $(names conda "$missing")" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
