#!/bin/bash
# demo_ablation.sh - a question, a sweep over seeds on real text, and its answer. Called by `make demo-ablation`.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${BUILD:-build}/modalities
work=${BUILD:-build}/demo-ablation
started=$SECONDS n_stage=0 n_stages=5

stage() { printf '\n== %s\n' "$*"; }

rm -rf "$work"
mkdir -p "$work/data/tokenizer"
export MODALITIES_DATA=$PWD/$work/data
. tools/demo_text.sh

stage "4/5  The question as a sweep: configs/ablation/activation.yaml, 12 runs"
"$program" sweep run configs/ablation/activation.yaml --output_dir "$work/sweeps"
sweep=$(echo "$work"/sweeps/*_*)

stage "5/5  The answer"
"$program" sweep report "$sweep" --html "$work/report.html" --csv "$work/runs.csv"
printf '\n%s/report.html opens in any browser; all of it took %d s.\n' "$work" $((SECONDS - started))
