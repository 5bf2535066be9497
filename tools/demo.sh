#!/bin/bash
# demo.sh - the whole way on real text: tokenizer, packing, training, a crash, resuming, generation. Called by `make demo`.
# Ends with status 1 unless the resumed training repeats the killed one to the bit and the model beats a bigram model.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${BUILD:-build}/modalities
work=${BUILD:-build}/demo
steps=600 half=300 # as configs/training/small.yaml has it, and where the crash comes
started=$SECONDS
training=

stage() { printf '\n== %s\n' "$*"; }
fail() { printf '\ndemo: %s\n' "$*" >&2; exit 1; }
trap '[ -z "$training" ] || kill -KILL "$training" 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

rm -rf "$work"
mkdir -p "$work/data/tokenizer" "$work/curve"
export MODALITIES_DATA=$work/data

n_stage=0 n_stages=7
. tools/demo_text.sh

stage "4/7  Training (configs/training/small.yaml), until it is killed after its checkpoint at step $half"
results=$work/experiments/killed/evaluation_results.jsonl
mkdir -p "$work/experiments"
"$program" run --config_file_path configs/training/small.yaml --experiments_root_path "$work/experiments" \
    --experiment_id killed >"$work/killed.log" &
training=$!
until grep -qs "\"num_train_steps_done\": $((half + 30))," "$results"; do
    kill -0 $training 2>/dev/null || fail "training ended early; see above and $work/killed.log"
    sleep 0.1
done
kill -KILL $training
wait $training 2>/dev/null || true
training=
if [ -t 2 ]; then printf '\n\n'; fi
echo "killed (SIGKILL) after step $((half + 30))"

stage "5/7  Resuming from the checkpoint (configs/training/small_warmstart.yaml)"
"$program" warmstart --config_file_path configs/training/small_warmstart.yaml --experiments_root_path "$work/experiments" \
    --experiment_id resumed \
    --last_checkpoint_info_file_path "$work/experiments/killed/checkpoints/last_checkpoint_info.json" >"$work/resumed.log" &
training=$!
wait $training || fail "resuming failed; see above and $work/resumed.log"
training=

# What both runs logged after the checkpoint: steps and the evaluation, without what depends on the clock.
logged='[.dataloader_tag, .num_train_steps_done, .losses, .metrics, .throughput_metrics["lr mean"]]'
jq -c "select(.num_train_steps_done > $half or (.num_train_steps_done == $half and .dataloader_tag == \"validation\")) | $logged" \
    "$results" >"$work/killed.lines"
jq -c "$logged" "$work/experiments/resumed/evaluation_results.jsonl" >"$work/resumed.lines"
same=$(grep -cFxf "$work/resumed.lines" "$work/killed.lines" || true)
if grep -vFxf "$work/resumed.lines" "$work/killed.lines" >"$work/differing.lines" || [ "$same" -lt 4 ]; then
    head -3 "$work/differing.lines" >&2
    fail "the resumed training differs from the killed one; see $work/killed.lines and $work/resumed.lines"
fi
{
    jq -c "select(.num_train_steps_done <= $half)" "$results"
    jq -c "select(.num_train_steps_done > $half)" "$work/experiments/resumed/evaluation_results.jsonl"
} >"$work/curve/evaluation_results.jsonl"
cp "$work/experiments/killed/small.yaml.resolved" "$work/curve/"

stage "6/7  Three prompts"
checkpoint=$(jq -r .checkpoint_folder_path "$work/experiments/resumed/checkpoints/last_checkpoint_info.json")
for prompt in "In the beginning" "And he said unto them," "A good programmer"; do
    "$program" generate_text --config_file_path configs/generate/small.yaml --set settings.model_path="$checkpoint" \
        --prompt "$prompt" --max_new_tokens 60 --temperature 0.7
done | tee "$work/generated.txt"

stage "7/7  The first steps again, on one rank and on two (--ranks 2: each has half of the samples, parameters and states)"
few=8
for ranks in 1 2; do
    "$program" run --config_file_path configs/training/small.yaml --experiments_root_path "$work/experiments" \
        --experiment_id "ranks-$ranks" --ranks $ranks --set settings.training_target.num_target_steps=$few \
        --set settings.intervals.training_log_interval_in_steps=1 --set settings.intervals.evaluation_interval_in_steps=$few \
        --set settings.intervals.evaluation_batches=4 --set settings.intervals.checkpointing_interval_in_steps=$few \
        --set lr_scheduler.config.warmup_steps=2 --set settings.step_profile.local_train_micro_batch_size=4 \
        --set settings.step_profile.gradient_accumulation_steps=$((2 / ranks)) >"$work/ranks-$ranks.log" 2>&1 ||
        fail "training on $ranks ranks failed; see $work/ranks-$ranks.log"
    jq -r 'select(.dataloader_tag == "train") | .losses["train loss avg"]' \
        "$work/experiments/ranks-$ranks/evaluation_results.jsonl" >"$work/ranks-$ranks.losses"
done
paste "$work/ranks-1.losses" "$work/ranks-2.losses" | awk '
    { d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > most) most = d
      printf "step %d: %.6f on one rank, %.6f on two\n", NR, $1, $2 }
    END { printf "largest relative difference: %.1e\n", most; exit !(NR == '$few' && most < 1e-5) }' ||
    fail "two ranks learn something else than one"

loss=$(jq -s 'map(select(.dataloader_tag == "validation")) | last.losses.CLMCrossEntropyLoss' "$work/curve/evaluation_results.jsonl")
bigram=$(awk '{ print $3 }' "$work/bigram")

stage "Report"
"$program" report "$work/curve" --plot_height 8
cat <<EOF
$(awk -v l="$loss" -v b="$bigram" 'BEGIN { printf "validation loss: %.4f (perplexity %.1f); a bigram model has %.4f (%.1f)", l, exp(l), b, exp(b) }')
resumed after SIGKILL: $same results after step $half are the same to the bit
whole demo: $((SECONDS - started)) s

files in $work: data/ (texts, tokenizer.json, .pbin), experiments/killed/ and experiments/resumed/
(configuration, results, checkpoints), curve/ (the curve above), generated.txt

next:  export MODALITIES_DATA=$work/data
       $program generate_text --config_file_path configs/generate/small.yaml --set settings.model_path=$checkpoint
       $program run --config_file_path configs/training/small.yaml --experiments_root_path $work/experiments
       $program help         README.md         docs/tour.md
EOF
awk -v l="$loss" -v b="$bigram" 'BEGIN { exit !(l < b) }' || fail "the validation loss is not below that of a bigram model"
