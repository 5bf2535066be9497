#!/bin/sh
# files.sh - lists the files of the repository that match the patterns given, those not yet added to git included.
set -eu
cd "$(dirname "$0")/.."
git ls-files --cached --others --exclude-standard "$@" | sort -u | while read -r file; do
    [ ! -e "$file" ] || echo "$file" # what was deleted is listed, too
done
