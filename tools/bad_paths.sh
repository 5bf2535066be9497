#!/bin/bash
# bad_paths.sh - every option and argument of every command with bad paths and bad values.
#
# usage: tools/bad_paths.sh [WORD]...   (BUILD=build; a word chooses the commands whose name holds it)
#
# Commands and options are those that the program's own help lists, so a new one is covered without a line here. Two
# facts must hold whatever is given: the program ends within 10 s with 0, 1 or 2 (where it waits for standard input or
# the writer of a fifo: after a SIGTERM at 2 s), and the inputs stay as they were (an empty file has nothing to lose).
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export LC_ALL=C COLUMNS=1000 MODALITIES_THREADS=2

# ---- one option of one command, in a folder of its own: bad_paths.sh --one FOLDER LINE ----

# The words to try. Names of files are those that make_bad_files makes.
bad_paths() {
    printf '%s\0' missing missing/below '' . .. / folder folder/ empty fifo dangling linked loop folder_link secret \
        secret_folder secret_folder/x /dev/null /dev/full /dev/stdin /dev/stdout /proc/self/mem /proc/version - \
        -x "$(printf 'n%.0s' {1..300})" "$(printf 'n/%.0s' {1..3000})" $'two\nlines' $'\xff\xfe' "quo'te \" \$(x)" \
        '*' '[a' '${x' '${oc.env:HOME}' %s%n '~' good.jsonl/ good.jsonl/x good.jsonl good.pbin good.idx tokenizer.json \
        train.yaml noise hole cut.jsonl.gz deep.json laughs.yaml
}
bad_values() {
    printf '%s\0' '' -1 0 1 1e400 nan .inf 1e308 -0.5 9223372036854775807 9223372036854775808 18446744073709551616 0x10 \
        '1 2' abc true null '[]' '{}' '[[' '${x}' $'\xff' %s%n ../../x a=b settings=1 \
        model_raw.config.n_layer=1000000000 "$(printf '9%.0s' {1..5000})"
}

# Runs the program with these words; says what does not hold.
try() {
    local limit=10 status waits=0
    case " $* " in *" fifo "* | *"=fifo "* | *" - "* | *"=- "* | *stdin*) waits=1 limit=2 ;; esac
    "${as[@]}" timeout --preserve-status -k 8 -s TERM "$limit" "$program" "$@" <"${input:-/dev/null}" >said 2>&1
    status=$?
    [ "$status" -le 2 ] && return
    # 75: stopped. 143: ended by the SIGTERM while nothing was begun that it could lose.
    if [ $waits = 1 ] && { [ $status = 75 ] || [ $status = 143 ]; }; then return; fi
    # in one write: others say theirs at the same time
    printf '%s\n' "$(printf 'status %d: modalities' "$status"; printf ' %q' "$@" | cut -c1-300; tail -n 3 said | tr -d '\0' | cut -c1-300)"
}

one() {
    local folder=$1 is_path=$2 words n i line=() as=()
    cp -a "$good" "$folder" && cd "$folder" || exit 1
    export TRAIN_PBIN=$PWD/good.pbin
    mkfifo fifo
    if [ "$(id -u)" = 0 ]; then
        chown -R 65534:65534 .
        as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    fi
    local sums
    sums=$(find . -type f ! -empty ! -name said -perm -400 | sort | xargs -d '\n' sha256sum)
    shift 2
    while IFS= read -r -d '' bad; do
        line=()
        for word in "$@"; do line+=("${word//@BAD@/"$bad"}"); done
        if [ "$bad" = - ]; then
            input=$folder/fifo # nobody writes
            exec 7<>fifo
            try "${line[@]}"
            exec 7>&-
            input=
        else
            try "${line[@]}"
        fi
    done < <(if [ "$is_path" = 1 ]; then bad_paths; else bad_values; fi)
    sha256sum --quiet -c <<<"$sums" 2>&1 | sed "s|^|input changed by $*: |"
    cd / && rm -rf "$folder"
}

if [ "${1:-}" = --one ]; then
    shift
    one "$@"
    exit
fi

# ---- what the files are ----

make_good_files() {
    for i in {1..40}; do echo "{\"text\": \"line $i of a small text, with words that come again and again\"}"; done >good.jsonl
    "$program" data create_raw_index good.jsonl >/dev/null 2>&1
    "$program" tokenizer train --input_path good.jsonl --output_path tokenizer.json --vocab_size 300 \
        --min_frequency 1 >/dev/null 2>&1
    cat >pack.yaml <<EOF
settings: {src_path: good.jsonl, dst_path: new.pbin, index_path: good.idx, jq_pattern: .text, num_cpus: 2, eod_token: <|endoftext|>, processing_batch_size: 10, raw_samples_queue_size: 10, processed_samples_queue_size: 10}
tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: {pretrained_model_name_or_path: tokenizer.json, padding: false, truncation: false}}
EOF
    "$program" data pack_encoded_data pack.yaml --set settings.dst_path=good.pbin >said 2>&1 || cat said
    sed 's/vocab_size: [0-9]*/vocab_size: 300/; s/num_target_steps: 8/num_target_steps: 4/' \
        "$here/tests/end_to_end/train.yaml" >train.yaml
    mkdir experiments
    TRAIN_PBIN=good.pbin "$program" run --config_file_path train.yaml --experiments_root_path experiments \
        --experiment_id x >said 2>&1 || cat said
    mv experiments/x/checkpoints/eid_* checkpoint
    rm said
}

make_bad_files() {
    mkdir folder secret_folder
    : >empty
    ln -s nowhere dangling
    ln -s good.jsonl linked
    ln -s loop loop
    ln -s folder folder_link
    echo secret >secret
    chmod 0 secret secret_folder
    head -c 5000 /dev/urandom >noise
    truncate -s 16M hole
    gzip -c good.jsonl | head -c 100 >cut.jsonl.gz
    printf '[%.0s' {1..20000} >deep.json
    { echo 'a: &a [x, x, x, x, x, x, x, x, x]'; for k in b c d e f g h i; do echo "$k: &$k [*a, *a, *a, *a, *a, *a, *a, *a]"; done; } >laughs.yaml
}

# ---- what the program takes ----

# "data filter", one a line; those without options of their own are no commands.
commands() {
    local name
    list() { "$program" "$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z0-9_]*\)\(  .*\)\?$/\1/p'; }
    list | while read -r name; do
        [ -n "$name" ] || continue
        if [ -n "$(list "$name")" ] && [ "$name" != help ]; then
            list "$name" | sed "s/^/$name /"
        else
            echo "$name"
        fi
    done
}

# A word that is good for an option or argument, by its name and type.
good_word() {
    local command=$1 name=${2,,} type=$3
    case $type in
        INT) echo 4 && return ;;
        FLOAT) echo 0.5 && return ;;
        \[*) type=${type#[} && echo "${type%%[]|]*}" && return ;;
        PATH | '') ;;
        *) echo text && return ;;
    esac
    case $name in
        *config*) if [[ $command = data* ]]; then echo pack.yaml; else echo train.yaml; fi ;;
        *output* | *target* | *dst* | *bin_path*) echo "new_$name" ;;
        *experiments_root*) echo experiments ;;
        *tokenizer*) echo tokenizer.json ;;
        *index*) echo good.idx ;;
        *) case $command in
            checkpoint*) echo checkpoint ;;
            *jsonl* | *raw_index* | tokenizer*) echo good.jsonl ;;
            report) echo experiments/x ;;
            *) echo good.pbin ;;
        esac ;;
    esac
}

# Jobs of one command: is_path, NUL, the words with @BAD@ in the place that is tried, NUL each; a newline ends a job.
jobs() {
    local command=$1 help base=() arguments=() options=() types=() name type i line
    # an explanation that goes on below belongs to its option's line
    help=$("$program" $command --help | sed -z 's/\n \{20,\}/ /g')
    while read -r name _; do arguments+=("$name"); done < <(sed -n '/^Arguments:/,/^$/s/^  \([A-Z].*\)/\1/p' <<<"$help")
    while read -r name type; do
        [ "$name" = --help ] && continue
        options+=("$name") types+=("$type")
    done < <(sed -n '/^Options:/,/^$/s/^  \(--[a-z_]*\)\( [A-Z]*\( \|$\)\| \[[^ ]*\]\)\?.*/\1 \2/p' <<<"$help")
    for name in "${arguments[@]}"; do base+=("$(good_word "$command" "${name%...}" '')"); done
    for i in "${!options[@]}"; do
        grep -qE -- "^  ${options[i]} .*\[required\]" <<<"$help" && # a default would stand there
            base+=("${options[i]}=$(good_word "$command" "${options[i]}" "${types[i]}")")
    done
    for i in "${!arguments[@]}"; do
        line=("${base[@]}")
        line[i]=@BAD@
        printf '%s\0' 1 $command "${line[@]}" END
    done
    for i in "${!options[@]}"; do
        line=()
        for name in "${base[@]}"; do [ "${name%%=*}" = "${options[i]}" ] || line+=("$name"); done
        printf '%s\0' "$([ "${types[i]}" = PATH ] && echo 1 || echo 0)" $command "${line[@]}" "${options[i]}=@BAD@" END
    done
}

# ---- all of it ----

root=$(mktemp -d)
trap 'chmod -R u+rwx "$root" 2>/dev/null; rm -rf "$root"' EXIT
chmod 755 "$root"
cp "$here/${BUILD:-build}/modalities" "$root/modalities" || exit 2
export program=$root/modalities good=$root/good
mkdir "$good" && cd "$good" || exit 2
make_good_files
make_bad_files
cd "$root" || exit 2
n=0
while read -r command; do
    chosen=1
    for word in "$@"; do [[ $command = *$word* ]] && chosen=1 && break || chosen=0; done
    [ "$chosen" = 1 ] || continue
    while IFS= read -r -d '' word; do
        if [ "$word" = END ]; then
            printf '%q ' bash "$here/tools/bad_paths.sh" --one "$root/work_$((n++))" "${job[@]}"
            printf '\n'
            job=()
        else
            job+=("$word")
        fi
    done < <(jobs "$command")
done < <(commands) >jobs
if ! [ -s jobs ]; then
    echo "no options and arguments to try: the program's help lists none${1:+ for $*}"
    exit 1
fi
xargs -d '\n' -P $((2 * $(nproc))) -I{} bash -c '{}' <jobs >found 2>&1
cat found
echo "$(wc -l <jobs) options and arguments, $(grep -c '^status\|^input changed' found) failures"
[ -s found ] && exit 1
exit 0
