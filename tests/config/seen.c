/* seen.c - runs a program of the tests on settings, and gathers what it showed. */
#include "config/seen.h"
#include "base/sha256.h"
#include "checkpoint/safetensors.h"
#include "components.h"
#include "data/pbin.h"
#include "end_to_end/training.h"
#include "monitor/mfu.h"
#include "tokenizer/small_tokenizer.h"
#include "train/forced_model.h"
#include <dirent.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* ---- the files that the tables name ---- */

static void name_file(const char *variable, const char *path)
{
    assert_int_equal(setenv(variable, path, 1), 0);
}

static const char *in_folder(Arena *a, const char *name)
{
    return path_join(a, path_absolute(a, test_folder()), name);
}

/* Documents of 20 to 49 tokens below 64. */
static const char *write_documents(Arena *a, const char *name, uint32_t factor, int n)
{
    enum { VOCABULARY = 64 };
    PbinWriter w;
    const char *path = in_folder(a, name);
    uint32_t token = 1;
    assert_no_error(pbin_create(path, 2, &w));
    for (int i = 0; i < n; i++) {
        Text bytes = { 0 };
        for (int k = 0; k < 20 + i % 30; k++) {
            token = (token * factor + (uint32_t)k) % VOCABULARY;
            assert_no_error(pbin_encode(&token, 1, 2, &bytes));
        }
        assert_no_error(pbin_add(&w, bytes.ptr, bytes.len));
        text_free(&bytes);
    }
    assert_no_error(pbin_commit(&w));
    return path;
}

static void run_command(Arena *a, const char *const *words)
{
    assert_ended_well(command_output(a, words, NULL));
}

/* Lines with two texts each, perhaps a last one with one, and their index. */
static const char *write_lines(Arena *a, const char *name, const char *word, int n, bool has_last)
{
    Text t = { 0 };
    for (int i = 0; i < n; i++)
        text_printf(&t, "{\"text\": \"%s number %d of the lines\", \"title\": \"%s %d\"}\n", word,
                    i, word, i);
    if (has_last) text_puts(&t, "{\"title\": \"the last line\"}\n");
    const char *path = in_folder(a, name);
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    const char *const index[] = { "data", "create_raw_index", path, NULL };
    run_command(a, index);
    return path;
}

#define ADDED(id, text)                                                                            \
    "{\"id\":" id ",\"content\":\"" text "\",\"special\":true,\"single_word\":false,"              \
    "\"lstrip\":false,\"rstrip\":false,\"normalized\":false}"

/* small_tokenizer() writes one place only. */
static const char *write_tokenizer(Arena *a, const char *name, const char *const *merges)
{
    const char *added =
        "[" ADDED("258", "<|end|>") "," ADDED("259", "<pad>") "," ADDED("260", "<plain>") "]";
    const char *path = in_folder(a, name);
    Str json;
    assert_no_error(file_read(a, small_tokenizer(a, merges, added), &json));
    assert_no_error(make_directories(path));
    assert_no_error(file_write(path_join(a, path, "tokenizer.json"), json.ptr, json.len));
    return path;
}

/* One entry of the vocabulary in a SentencePiece file: text, score 0, kind (1: normal, 2: unknown,
 * 3: control). */
static void put_piece(Text *t, const char *text, char kind)
{
    size_t n = strlen(text);
    const char head[] = { 0x0a, (char)(n + 9), 0x0a, (char)n };
    const char tail[] = { 0x15, 0, 0, 0, 0, 0x18, kind };
    text_add(t, head, sizeof head);
    text_add(t, text, n);
    text_add(t, tail, sizeof tail);
}

static const char *write_sentencepiece(Arena *a, const char *name, const char *pair)
{
    Text t = { 0 };
    put_piece(&t, "<unk>", 2);
    put_piece(&t, "<s>", 3);
    put_piece(&t, "</s>", 3);
    put_piece(&t, "\xe2\x96\x81", 1); /* stands for a blank */
    for (char c = '0'; c <= 'z'; c++) put_piece(&t, (const char[]){ c, 0 }, 1);
    put_piece(&t, pair, 1);
    const char *path = in_folder(a, name);
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    return path;
}

static void save_checkpoint(Arena *a, const char *variable, const char *seed)
{
    const char *root = in_folder(a, variable);
    assert_no_error(make_directories(root));
    const char *const words[] = { "run",
                                  "--config_file_path",
                                  "tests/end_to_end/train.yaml",
                                  "--experiments_root_path",
                                  root,
                                  "--experiment_id",
                                  "saved",
                                  "--set",
                                  "settings.training_target.num_target_steps=4",
                                  "--set",
                                  arena_printf(a, "model_raw.config.seed=%s", seed),
                                  NULL };
    run_command(a, words);
    const Bench b = { .arena = a, .root = root };
    name_file(variable, bench_last_checkpoint(&b, "saved", NULL));
}

/* Both models are written to one place. */
static void write_generation(Arena *a)
{
    Str weights;
    assert_no_error(file_read(a, forced_model_write(a, "acca", "{prompt}").weights, &weights));
    const char *other = in_folder(a, "other.safetensors");
    assert_no_error(file_write(other, weights.ptr, weights.len));
    name_file("OTHER_WEIGHTS", other);
    name_file("FORCED_TOKENIZER", in_folder(a, "tokenizer.json"));
    name_file("GENERATE_YAML", forced_model_write(a, "abbccdda", "{prompt}").config);
}

/* Samples of 17 tokens below 64, under two names. */
static const char *write_arrays(Arena *a, const char *name, int factor)
{
    enum { N = 60, TOKENS = 17, VOCABULARY = 64 };
    NamedTensor x[] = { { "input_ids", { .dtype = I32, .n_dims = 2, .size = { N, TOKENS } } },
                        { "other", { .dtype = I32, .n_dims = 2, .size = { N, TOKENS } } } };
    int32_t *id = x[0].tensor.data = x[1].tensor.data = NEW_N(a, int32_t, N * TOKENS);
    for (int i = 0; i < N * TOKENS; i++) id[i] = i * factor % VOCABULARY;
    const char *path = in_folder(a, name);
    assert_no_error(safetensors_write(path, x, 2));
    return path;
}

void seen_prepare(Arena *a)
{
    static const char *const merges[] = { "l i", "n e", NULL };
    static const char *const other_merges[] = { "o f", "t h", NULL };
    name_file("MODALITIES_THREADS", "1");
    name_file("TRAIN_PBIN", write_documents(a, "tokens.pbin", 5, 60));
    name_file("OTHER_PBIN", write_documents(a, "other.pbin", 7, 50));
    name_file("ARRAYS", write_arrays(a, "arrays.safetensors", 5));
    name_file("OTHER_ARRAYS", write_arrays(a, "other_arrays.safetensors", 7));
    name_file("JSONL", write_lines(a, "lines.jsonl", "this", 12, true));
    name_file("INDEX", in_folder(a, "lines.idx"));
    name_file("OTHER_JSONL", write_lines(a, "other.jsonl", "that", 12, true));
    write_lines(a, "short.jsonl", "this", 9, false);
    name_file("SHORT_INDEX", in_folder(a, "short.idx"));
    name_file("TOKENIZER", write_tokenizer(a, "tokenizer", merges));
    name_file("OTHER_TOKENIZER", write_tokenizer(a, "other_tokenizer", other_merges));
    name_file("SENTENCEPIECE", write_sentencepiece(a, "one.model", "th"));
    name_file("OTHER_SENTENCEPIECE", write_sentencepiece(a, "other.model", "is"));
    save_checkpoint(a, "CHECKPOINT", "1");
    save_checkpoint(a, "OTHER_CHECKPOINT", "2");
    write_generation(a);
}

/* ---- the programs ---- */

enum { MAX_WORDS = 64 };

typedef struct Call {
    const char *word[MAX_WORDS];
    int n;
} Call;

static void add_words(Call *c, const char *const *words)
{
    for (; *words; words++) {
        assert_true(c->n + 1 < MAX_WORDS);
        c->word[c->n++] = *words;
    }
}

static void add_set(Call *c, const char *assignment)
{
    add_words(c, (const char *const[]){ "--set", assignment, NULL });
}

/* Two steps of the end-to-end test's training, without checkpoints. */
static void call_run(Call *c, const char *root)
{
    add_words(c, (const char *const[]){ "run", "--config_file_path", "tests/end_to_end/train.yaml",
                                        "--experiments_root_path", root, "--experiment_id", "x",
                                        NULL });
    add_set(c, "checkpoint_saving.config.checkpoint_saving_strategy.config.k=0");
    add_set(c, "settings.training_target.num_target_steps=2");
    add_set(c, "settings.intervals.evaluation_interval_in_steps=2");
    add_set(c, "settings.intervals.checkpointing_interval_in_steps=2");
}

/* What is recomputed changes no result. */
static void call_graph(Call *c, const char *root)
{
    call_run(c, root);
    add_words(c, (const char *const[]){ "--print_graph", "after:all", NULL });
}

static void call_pack(Call *c, const char *root)
{
    add_words(c, (const char *const[]){ "data", "pack_encoded_data",
                                        "tests/config/fields/pack.yaml", NULL });
    name_file("OUTPUT", root);
}

static void call_generate(Call *c, const char *root)
{
    (void)root;
    add_words(c,
              (const char *const[]){ "generate_text", "--config_file_path", getenv("GENERATE_YAML"),
                                     "--prompt", "xofa", "--max_new_tokens", "9", NULL });
}

static void call_profile(Call *c, const char *root)
{
    add_words(c, (const char *const[]){ "profile", "single_process", "--config_file_path",
                                        "tests/watch/profile.yaml", "--experiment_root_path", root,
                                        "--experiment_id", "x", NULL });
}

/* On two ranks: what lies where, and when it runs; no number depends on it. */
static void call_schedule(Call *c, const char *root)
{
    (void)root;
    assert_int_equal(setenv("WORLD_SIZE", "2", 1), 0);
    add_words(c, (const char *const[]){ "config", "check", "--config_file_path",
                                        "tests/end_to_end/train.yaml", "--print_schedule", NULL });
}

/* Of 8 ranks: what each of them takes and sends. */
static void call_plan(Call *c, const char *root)
{
    (void)root;
    add_words(c, (const char *const[]){ "plan", "--config_file_path", "tests/end_to_end/train.yaml",
                                        "--ranks", "8", NULL });
}

static const struct {
    const char *name;
    void (*call)(Call *c, const char *root);
} programs[] = {
    { "plan", call_plan },         { "profile", call_profile },   { "run", call_run },
    { "graph", call_graph },       { "schedule", call_schedule }, { "pack", call_pack },
    { "generate", call_generate },
};

/* ---- what is left when time, memory and place are taken away ---- */

static void replace(Arena *a, char **text, const char *what, const char *by)
{
    Text t = { 0 };
    const char *from = *text;
    for (const char *at; (at = strstr(from, what)); from = at + strlen(what)) {
        text_add(&t, from, (size_t)(at - from));
        text_puts(&t, by);
    }
    text_puts(&t, from);
    *text = arena_string(a, t.ptr);
    text_free(&t);
}

static void drop_matches(Arena *a, char **text, const char *pattern)
{
    regex_t r;
    regmatch_t m;
    Text t = { 0 };
    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NEWLINE), 0);
    const char *from = *text;
    for (; regexec(&r, from, 1, &m, 0) == 0; from += m.rm_eo) text_add(&t, from, (size_t)m.rm_so);
    text_puts(&t, from);
    regfree(&r);
    *text = arena_string(a, t.ptr);
    text_free(&t);
}

/* The training report repeats the settings; its warnings, if there are any, are news. */
static void drop_report(char *text)
{
    char *from = strstr(text, "Training target:"), *end = from ? strstr(from, "\n====") : NULL,
         *warnings = from ? strstr(from, "Warnings:") : NULL, *to = warnings ? warnings : end;
    if (to) memmove(from, to, strlen(to) + 1);
}

static const char *lasting(Arena *a, const char *text, const char *root)
{
    static const char *const varying[] = {
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}",
        "(samples/s|samples_per_second|mfu \\(16-bit\\)|peak memory rank 0 \\(MB\\))\"?: "
        "[-0-9.e+]+",
        "\"(_timestamp|timestamp_ns|ts|dur|GB/s|share of peak (FLOP|GB)/s)\": [-0-9.e+]+",
        "\"config\": \"[0-9a-f]{64}\"",
        "events\\.out\\.tfevents\\.[^ ]+",
        "offline-run-[0-9]{8}_[0-9]{6}",
        "[0-9.]+ [kM]?tokens/s",
        "ETA [0-9:]+",
        "\\([0-9.]+ [kMG]?i?B of JSON in .*",
        "^hint: .*\n",
    };
    char *t = arena_string(a, text);
    replace(a, &t, root, "ROOT");
    drop_report(t);
    for (size_t i = 0; i < sizeof varying / sizeof *varying; i++) drop_matches(a, &t, varying[i]);
    return t;
}

typedef struct Gatherer {
    Arena *arena;
    const char *root;
    Text text;
    Seen *seen;
} Gatherer;

static void gather_file(Gatherer *g, const char *path)
{
    Str bytes;
    assert_no_error(file_read(g->arena, path, &bytes));
    if (str_ends(str_of(path), ".yaml")) return;
    if (str_ends(str_of(path), ".yaml.resolved")) {
        g->seen->resolved = bytes.ptr;
        return;
    }
    text_printf(&g->text, "== %s\n", lasting(g->arena, path, g->root));
    if (strstr(path, "profiler_summary") || strstr(path, "tfevents") || strstr(path, ".wandb") ||
        str_ends(str_of(path), ".csv"))
        return; /* times */
    bool is_text = str_ends(str_of(path), ".json") || str_ends(str_of(path), ".jsonl");
    char digest[65];
    sha256_hex(bytes.ptr, bytes.len, digest);
    text_puts(&g->text, is_text ? lasting(g->arena, bytes.ptr, g->root) : digest);
}

/* In the order of the names. */
static void gather_folder(Gatherer *g, const char *path)
{
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name, *below = path_join(g->arena, path, name);
        bool is_folder = entry[i]->d_type == DT_DIR;
        if (name[0] != '.' && is_folder) gather_folder(g, below);
        if (name[0] != '.' && !is_folder) gather_file(g, below);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static Seen run_program(Arena *a, const FieldBlock *b, const char *more,
                        void (*call)(Call *c, const char *root))
{
    static int n_runs;
    const char *root = arena_printf(a, "%s/seen-%d", path_absolute(a, test_folder()), n_runs++);
    assert_no_error(make_directories(root));
    Call c = { .n = 0 };
    call(&c, root);
    for (int64_t i = 0; i < b->set.n; i++) add_set(&c, b->set.item[i]);
    if (more) add_set(&c, more);
    Outcome o = command_output(a, c.word, NULL);
    Seen s = { .status = o.status };
    Gatherer g = { .arena = a, .root = root, .seen = &s };
    text_printf(&g.text, "status %d\n%s", o.status, lasting(a, o.text, root));
    gather_folder(&g, root);
    s.text = arena_string(a, g.text.ptr);
    text_free(&g.text);
    assert_no_error(remove_tree(root));
    return s;
}

/* How fast the machine is does not matter for its share. */
static Seen run_mfu(Arena *a, const FieldBlock *b, const char *more)
{
    const char **set = NEW_N(a, const char *, b->set.n + 1);
    for (int64_t i = 0; i < b->set.n; i++) set[i] = b->set.item[i];
    if (more) set[b->set.n] = more;
    void *made;
    Error *e = component_from_file(a, "tests/end_to_end/train.yaml",
                                   (StringList){ set, b->set.n + (more != NULL) }, "mfu_calculator",
                                   "mfu_calculator", &made);
    Seen s = { .status = e != NULL, .resolved = more };
    s.text = e ? arena_string(a, error_text(e))
               : arena_printf(a, "%.17g", mfu_compute(made, 1000, 1, 1e12));
    error_free(e);
    return s;
}

Seen seen_run(Arena *a, const FieldBlock *b, const char *more)
{
    if (!strcmp(b->program, "mfu")) return run_mfu(a, b, more);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(b->program, programs[i].name)) return run_program(a, b, more, programs[i].call);
    fail_msg("%s:%d: there is no program %s", b->file, b->line, b->program);
    abort();
}
