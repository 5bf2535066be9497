#!/bin/sh
# check_docs.sh - every folder of three or more files has a README that names them; names follow the rules;
# links in Markdown lead somewhere; ARCHITECTURE.md stays short.
set -eu
cd "$(dirname "$0")/.."
status=0
complain() { echo "$*"; status=1; }
# A family of files may be named by its common beginning: "yaml" stands for yaml_scalar, too. Folders that mirror src/
# and the commands need no page.
tools/files.sh src cli tests bench tools docs configs examples | grep -v -e '^tests/.*/' -e '^configs/.*/' | awk '
    function text_of(path,    line, text) {
        while ((getline line < path) > 0) text = text " " line " "
        return text
    }
    function is_named(stem, text) {
        for (;;) {
            if (text ~ ("[^A-Za-z0-9_]" stem "[^A-Za-z0-9_]") || index(text, stem "*")) return 1
            if (!sub(/_[^_]*$/, "", stem)) return 0
        }
    }
    !/README\.md$/ {
        folder = $0
        sub(/\/[^\/]*$/, "", folder)
        file[folder, ++n[folder]] = substr($0, length(folder) + 2)
    }
    END {
        for (folder in n) {
            if (n[folder] < 3) continue
            text = text_of(folder "/README.md")
            if (text == "") { print folder ": " n[folder] " files, but no README.md"; bad = 1; continue }
            for (i = 1; i <= n[folder]; i++) {
                stem = file[folder, i]
                sub(/\.[a-z]*$/, "", stem)
                if (!is_named(stem, text)) { print folder "/README.md does not mention " file[folder, i]; bad = 1 }
            }
        }
        exit bad
    }' || status=1
# shellcheck disable=SC2046
awk '
    function complain(text) { print FILENAME ": " text; bad = 1 }
    FNR == 1 {
        name = FILENAME
        sub(/.*\//, "", name)
        if (name ~ /^(utils?|common|misc|helpers?)\./) complain("name it by what it holds")
        if (index($0, "/* " name " - ") != 1) complain("the first line must be /* " name " - one sentence. */")
        nextfile
    }
    END { exit bad }' $(tools/files.sh '*.c' '*.h' '*.cu') || status=1
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
