#!/bin/sh
# check_format.sh - names the places that clang-format would change, and nothing else. `make format` changes them.
set -eu
cd "$(dirname "$0")/.."
said=$(tools/files.sh '*.c' '*.h' | xargs clang-format --dry-run --Werror 2>&1) && exit 0
places=$(echo "$said" | sed -n 's/: error: code should be clang-formatted.*//p')
echo "${places:-$said}"
[ -z "$places" ] || echo "These places are not as clang-format writes them: make format"
exit 1
