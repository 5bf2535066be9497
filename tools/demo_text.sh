# demo_text.sh - real text as packed files in $MODALITIES_DATA, for the demos, which read this file; they set program, work and
# stage().
stage "$((++n_stage))/$n_stages  Text: the King James Bible by chapters, fortune cookies (Debian packages bible-kjv, fortunes)"
# Chapters and cookies end with a line "%". Backspaces in cookies overstrike; jokes about kinds of people stay out.
{
    bible -f 'gen1:1-rev22:21' | awk '{ chapter = $1; sub(/:.*/, "", chapter)
        if (NR > 1 && chapter != last) print "%"
        last = chapter; sub(/^[^ ]* /, ""); print } END { print "%" }'
    find /usr/share/games/fortunes -type f ! -name '*.dat' ! -name ascii-art ! -name ethnic ! -name men-women |
        LC_ALL=C sort | xargs sed 's/.\x08//g'
} >"$work/text"
jq -Rsc 'split("\n%\n")[] | select(length > 20) | {text: .}' "$work/text" >"$work/documents.jsonl"
awk 'NR % 20 != 0' "$work/documents.jsonl" >"$MODALITIES_DATA/train.jsonl"
awk 'NR % 20 == 0' "$work/documents.jsonl" >"$MODALITIES_DATA/validation.jsonl" # every 20th document
wc -lc "$MODALITIES_DATA"/*.jsonl | awk '$3 != "total" { printf "%s: %d documents, %.1f MB\n", $3, $1, $2 / 1e6 }'

stage "$((++n_stage))/$n_stages  A byte-level BPE tokenizer, trained on it"
"$program" tokenizer train --input_path "$MODALITIES_DATA/train.jsonl" --vocab_size 2048 \
    --output_path "$MODALITIES_DATA/tokenizer/tokenizer.json"

stage "$((++n_stage))/$n_stages  Index and pack: one file of tokens for training, one for validation"
for part in train validation; do
    "$program" data create_raw_index "$MODALITIES_DATA/$part.jsonl"
    "$program" data pack_encoded_data configs/data/pack.yaml --set settings.part=$part
done
"$program" data bigram_loss "$MODALITIES_DATA/train.pbin" "$MODALITIES_DATA/validation.pbin" | tee "$work/bigram"
