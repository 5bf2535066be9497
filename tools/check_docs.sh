#!/bin/sh
# check_docs.sh - every folder of three or more files has a README that names them; names follow the rules;
# links in Markdown lead somewhere; ARCHITECTURE.md stays short.
set -eu
cd "$(dirname "$0")/.."
status=0
# A family of files may be named by its common beginning: "yaml" stands for yaml_scalar, too.
named() {
    stem=$1
    while ! grep -qw -- "$stem" "$2" && ! grep -q -- "$stem\*" "$2"; do
        case $stem in *_*) stem=${stem%_*} ;; *) return 1 ;; esac
    done
}
complain() { echo "$*"; status=1; }
for folder in $(tools/files.sh src cli tests bench tools docs configs examples | xargs -n1 dirname | sort -u); do
    files=$(tools/files.sh "$folder" | grep -E "^$folder/[^/]+$" | grep -v README.md || true)
    n=$(echo "$files" | grep -c . || true)
    case $folder in tests/*|configs/*) continue ;; esac # these mirror src/ and the commands
    [ "$n" -ge 3 ] || continue
    if [ ! -f "$folder/README.md" ]; then
        complain "$folder: $n files, but no README.md"
        continue
    fi
    for file in $files; do
        stem=$(basename "$file" | sed 's/\.[a-z]*$//')
        named "$stem" "$folder/README.md" || complain "$folder/README.md does not mention $(basename "$file")"
    done
done
for file in $(tools/files.sh '*.c' '*.h' '*.cu'); do
    case $(basename "$file") in utils.*|util.*|common.*|misc.*|helpers.*|helper.*) complain "$file: name it by what it holds" ;; esac
    head -1 "$file" | grep -q "^/\* $(basename "$file") - " || complain "$file: the first line must be /* $(basename "$file") - one sentence. */"
done
lines=$(cat ARCHITECTURE.md 2>/dev/null | wc -l)
[ "$lines" -le 120 ] || complain "ARCHITECTURE.md: $lines lines; at most 120: decisions of one folder go to its README.md"
for folder in src/tokenizer/*/; do
    [ -d "$folder" ] || continue
    name=$(basename "$folder")
    grep -qE "\`(tokenizer/)?$name\`" ARCHITECTURE.md || complain "ARCHITECTURE.md does not name $folder"
done
for file in $(tools/files.sh '*.md'); do
    for link in $(grep -o '](\([^)#]*\)' "$file" | sed 's/^](//' | grep -v '^[a-z]*:' || true); do
        [ -e "$(dirname "$file")/$link" ] || complain "$file: the link $link leads nowhere"
    done
done
exit $status
