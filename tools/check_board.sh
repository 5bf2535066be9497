#!/bin/bash
# check_board.sh - the board of 200 runs x 2,000 points, and of real ones, in headless Chromium: every part is there, nothing
# waits for long, and the screenshots in BUILD/check-board are for eyes. Called by `make check-board`.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/${BUILD:-build}/modalities
work=$PWD/${BUILD:-build}/check-board
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || { echo "check-board: there is no Chromium here (apt-get install chromium)"; exit 1; }
rm -rf "$work"
mkdir -p "$work/many" "$work/real" "$work/data/tokenizer"

echo "200 runs of 2,000 points"
for run in $(seq 1 200); do
    folder=$(printf '%s/many/run_%03d' "$work" "$run")
    mkdir "$folder"
    lr=$(((run - 1) % 10 + 1))e-4 seed=$(((run - 1) / 10))
    printf 'settings: {seed: %s}\noptimizer: {config: {lr: %s}}\n' "$seed" "$lr" >"$folder/run.yaml.resolved"
    awk -v lr="${lr%e-4}" -v seed="$seed" 'BEGIN { srand(seed * 100 + lr); for (i = 1; i <= 2000; i++) {
        step = i * 10; loss = 2.5 + 8 * exp(-step * lr / 12000) + 0.4 / lr + (rand() - .5) * .3 + seed / 200
        printf "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": %d, \"losses\": {\"train loss avg\": %.5f}, \"metrics\": {\"grad norm avg\": %.5f}, \"throughput_metrics\": {\"lr mean\": %.6g}}\n",
            step, loss, 1 + rand() + 10 / i, lr * 1e-4 }
        for (i = 200; i <= 2000; i += 200) printf "{\"dataloader_tag\": \"val\", \"num_train_steps_done\": %d, \"losses\": {\"CLMCrossEntropyLoss\": %.5f}, \"metrics\": {}, \"throughput_metrics\": {}}\n",
            i * 10, 2.6 + 8 * exp(-i * 10 * lr / 12000) + 0.4 / lr + seed / 200 }' >"$folder/evaluation_results.jsonl"
done

echo "a pipeline, and a training that writes texts"
export MODALITIES_DATA=$work/data
for part in train validation; do
    awk -v part=$part 'BEGIN { srand(part == "train"); for (i = 0; i < 1000; i++) { s = ""
        for (k = 0; k < 60; k++) s = s substr("the cat and a dog sat on red mat near old tree ", 1 + 4 * int(rand() * 11), 4)
        printf "{\"text\": \"%s\"}\n", s } }' >"$work/data/$part.jsonl"
    [ $part = validation ] || "$program" tokenizer train --input_path "$work/data/train.jsonl" --vocab_size 300 \
        --output_path "$work/data/tokenizer/tokenizer.json"
    "$program" data create_raw_index "$work/data/$part.jsonl"
    "$program" data pack_encoded_data configs/data/pack.yaml --set settings.part=$part
done
small=(--set model_raw.config.vocab_size=384 --set model_raw.config.seed=1 --set settings.training_target.num_target_steps=60
    --set optimizer.config.lr=4e-3 --set model_raw.config.activation_type=gelu --experiments_root_path "$work/real")
grep -v '^sweep:\|^  activation:\|^  lr:\|^  seed:' configs/ablation/activation.yaml >"$work/texts.yaml"
"$program" run --config_file_path "$work/texts.yaml" --experiment_id texts "${small[@]}"
"$program" run --config_file_path "$work/texts.yaml" --experiment_id "texts of another seed" "${small[@]}" --set model_raw.config.seed=2
cat >"$work/pipeline.yaml" <<YAML
extends: texts.yaml
checkpoint_samples: null
device_mesh: {config: {pipeline_parallel_degree: 4}}
model_raw: {config: {n_layer: 7}}
sharded_model:
  component_key: model
  variant_key: parallelized
  config:
    model: {instance_key: model_raw, pass_type: BY_REFERENCE}
    device_mesh: {instance_key: device_mesh, pass_type: BY_REFERENCE}
    pipeline_schedule: Interleaved1F1B
    microbatches: 8
YAML
"$program" run --config_file_path "$work/pipeline.yaml" --experiment_id pipeline "${small[@]}" --ranks 4

# Script that is added to the page runs after its own; what it finds stands in the title of the page that Chromium prints.
look() { # NAME PAGE SCRIPT
    { sed 's|</html>||' "$2"; printf '<script>%s\nconst found = document.createElement("pre"); found.id = "found"; found.hidden = true; document.body.append(found);\nfound.textContent = JSON.stringify(said);</script></html>' "$3"; } >"$work/$1.html"
    "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1400,1900 --virtual-time-budget=5000 \
        --screenshot="$work/$1.png" "file://$work/$1.html" 2>/dev/null >&2
    "$browser" --headless=new --no-sandbox --disable-gpu --window-size=1400,1900 --virtual-time-budget=5000 --dump-dom \
        "file://$work/$1.html" 2>/dev/null | sed -n 's|.*<pre id="found" hidden="">\(.*\)</pre>.*|\1|p' | tee "$work/$1.json"
    [ -s "$work/$1.json" ] || { echo "check-board: $1: the page's script failed"; exit 1; }
}
"$program" board "$work/many"
"$program" board "$work/real"
head='const said = {}; const set = (id, v) => { const e = byId(id); if (e.type === "checkbox") e.checked = v; else e.value = v; e.oninput() };
const time = (name, n, f) => { let best = 1e9; for (let i = 0; i < n; i++) { const t = performance.now(); f(i); best = Math.min(best, performance.now() - t) } said[name] = Math.round(best) };'
look many "$work/many/board.html" "$head time('means ms', 5, i => { byId('smooth').value = 50 + i; prepare(); draw() }); said.groups = curves.length; said['runs of a group'] = curves[0].n; set('means', false); set('paint', '');
    time('draw ms', 5, draw); time('smoothing ms', 5, i => { byId('smooth').value = 50 + i; prepare(); draw() });
    time('filter ms', 5, i => set('filter', 'lr=' + (i + 1) + 'e-4')); set('filter', ''); time('scroll ms', 20, i => { document.querySelector('.scroll').scrollTop = i * 100; document.body.offsetHeight });
    time('pointer ms', 20, i => { canvas.onpointermove({ offsetX: 200 + i * 20, offsetY: 100 + i * 5 }); emphasize() }); over = null; set('smooth', 0);
    said.runs = byId('runs').querySelectorAll('tbody tr').length; said['page MB'] = Math.round(document.documentElement.innerHTML.length / 1e6); draw();"
look filtered "$work/many/board.html" "$head set('filter', 'lr=0.001'); set('smooth', 90); set('logx', true); set('logy', true); set('means', false); set('paint', 'settings.seed'); said.runs = shown().length;
    const rows = byId('runs').querySelectorAll('tbody tr'); for (const i of [0, 7]) byId('runs').onclick({ target: rows[i].firstChild, ctrlKey: true }); said.compared = byId('compare').rows.length; draw(); showRun();"
look means "$work/many/board.html" "$head set('over', 'tokens'); said['without tokens'] = curves.length; set('over', ''); set('filter', 'lr=0.001'); said.groups = curves.length;
    said.between = curves[0].low.every((v, i) => v <= curves[0].y[i] && curves[0].y[i] <= curves[0].high[i]); set('filter', ''); said.keys = byId('keys').children.length; draw();"
look tokens "$work/real/board.html" "$head set('over', 'tokens'); said.last = runs.filter(r => tokensOf(r)).map(r => curves.find(c => c.of.includes(r)).x.at(-1) === tokensOf(r).y.at(-1)); draw();"
look texts "$work/real/board.html" "$head const at = name => String(runs.findIndex(r => r.name.startsWith(name))); set('run', at('texts'));
    picked = runs.filter(r => r.samples); compare(); showSamples(); said.steps = byId('samples').rows.length - 1; said.memory = byId('layers').rows.length > 1; draw();"
look pipeline "$work/real/board.html" "$head const at = name => String(runs.findIndex(r => r.name.startsWith(name))); set('run', at('pipeline')); said.schedule = byId('schedulename').textContent; draw();"
grep -q '"groups":10,"runs of a group":20,.*"runs":200' "$work/many.json" && grep -q '"without tokens":0,"groups":1,"between":true,"keys":10' "$work/means.json" &&
    grep -q '"last":\[true,true,true\]' "$work/tokens.json" && grep -q '"runs":20,' "$work/filtered.json" && grep -q '"steps":3,"memory":true' "$work/texts.json" &&
    grep -q 'Interleaved1F1B' "$work/pipeline.json" || { echo "check-board: something is missing"; exit 1; }
grep -Eo '"[a-z]+ ms":[0-9]+' "$work/many.json" | awk -F: '$2 > 200 { print "check-board: " $1 " takes " $2 " ms"; bad = 1 } END { exit bad }'
echo "look at $work/{many,means,filtered,tokens,texts,pipeline}.png"
