/* init.c - `modalities init`: a short training configuration for a size, a budget and a data set.
 */
#include "base/file.h"
#include "base/log.h"
#include "command.h"
#include "data/pbin.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Options {
    const char *data, *validation, *output_path;
    int size;
    const double *tokens;
    int64_t vocab_size, sequence_length, batch;
} Options;

/* Widths and depths as usual for these sizes; parameters without embeddings. */
typedef struct Size {
    const char *name;
    int64_t n_layer, n_embd, n_head_q, n_head_kv, ffn_hidden;
    double lr;
} Size;

static const Size sizes[] = {
    { "1m", 4, 128, 4, 2, 512, 3e-3 },        { "10m", 6, 384, 6, 2, 1536, 1e-3 },
    { "30m", 8, 512, 8, 4, 2048, 1e-3 },      { "125m", 12, 768, 12, 4, 3072, 6e-4 },
    { "350m", 24, 1024, 16, 4, 4096, 3e-4 },  { "1b", 24, 2048, 16, 8, 8192, 2e-4 },
    { "3b", 32, 2560, 32, 8, 10240, 1.6e-4 }, { "7b", 32, 4096, 32, 8, 16384, 1.2e-4 },
};
static const char *const size_names[] = {
    "1m", "10m", "30m", "125m", "350m", "1b", "3b", "7b", NULL
};

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, data, NULL, "the packed training data", .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_PATH(Options, validation, "null", "packed data to evaluate on; by default nothing is evaluated", .flags = FIELD_EXISTS),
    FIELD_CHOICE(Options, size, "10m", size_names, "parameters of the model, roughly, without embeddings"),
    FIELD_FLOAT(Options, tokens, "null", 1, INFINITY, "budget in tokens: 2e9; by default one pass over the data"),
    FIELD_INT(Options, vocab_size, "50304", 1, INFINITY, "of the tokenizer, rounded up to a multiple of 128"),
    FIELD_INT(Options, sequence_length, "1024", 2, INFINITY, "tokens of a sample"),
    FIELD_INT(Options, batch, "8", 1, INFINITY, "samples of a step"),
    FIELD_PATH(Options, output_path, "train.yaml", "the configuration", .role = PATH_WRITTEN),
    { 0 },
};
/* clang-format on */

static Error *count_tokens(Arena *a, const char *path, int64_t *out)
{
    Pbin p;
    TRY(pbin_open(a, path, &p));
    *out = p.n_tokens;
    return NULL;
}

/* JSON's quotes are YAML's, too. */
static void put_path(Arena *a, Text *t, const char *key, const char *path)
{
    text_printf(t, "    %s: \"", key);
    for (const char *c = path_absolute(a, path); *c; c++) {
        if (*c == '"' || *c == '\\') text_putc(t, '\\');
        text_putc(t, *c);
    }
    text_puts(t, "\"\n");
}

/* Every interval divides the target: the last step is logged, evaluated and saved. */
typedef struct Pace {
    int64_t steps, evaluate_every, save_every;
} Pace;

/* The most steps up to `wanted` with 8 to 60 evaluations of which every fifth to second saves; more
 * evaluations are 100 steps apart, and every fifth saves. */
static Pace pace_of(int64_t wanted)
{
    static const int64_t every[] = { 100, 50, 20, 10, 5, 2, 1 };
    Pace best = { 0 };
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        int64_t n = wanted / every[i];
        if ((n < 8 && every[i] > 1) || (n > 60 && every[i] < 100)) continue;
        for (int64_t k = 5; k >= (n > 60 ? 5 : 2); k--)
            if (n / k * k * every[i] > best.steps)
                best = (Pace){ n / k * k * every[i], every[i], k * every[i] };
    }
    return best;
}

static void put_config(Arena *a, const Options *o, const Size *s, const Pace *pace, Text *t)
{
    int64_t vocab = (o->vocab_size + 127) / 128 * 128;
    int64_t warmup = pace->steps / 50 > 0 ? pace->steps / 50 : 1;
    text_printf(t,
                "# A model of about %s parameters beside its embeddings. The rest comes from "
                "modalities/training:\n#   modalities config resolve --config_file_path %s "
                "--origins\nextends: modalities/training\nsettings:\n  paths:\n",
                s->name, o->output_path);
    put_path(a, t, "train_dataset_path", o->data);
    put_path(a, t, "validation_dataset_path", o->validation ? o->validation : o->data);
    text_printf(t,
                "  step_profile: {local_train_micro_batch_size: %lld, sequence_length: %lld}\n"
                "  training_target: {num_target_steps: %lld}\n"
                "  intervals: {training_log_interval_in_steps: %lld, "
                "evaluation_interval_in_steps: %lld, checkpointing_interval_in_steps: %lld}\n",
                (long long)o->batch, (long long)o->sequence_length, (long long)pace->steps,
                (long long)(pace->evaluate_every < 10 ? 1 : pace->evaluate_every / 10),
                (long long)pace->evaluate_every, (long long)pace->save_every);
    text_printf(t,
                "model_raw:\n  config: {vocab_size: %lld, n_layer: %lld, n_embd: %lld, n_head_q: "
                "%lld, n_head_kv: %lld, ffn_hidden: %lld}\n",
                (long long)vocab, (long long)s->n_layer, (long long)s->n_embd,
                (long long)s->n_head_q, (long long)s->n_head_kv, (long long)s->ffn_hidden);
    text_printf(t,
                "optimizer: {config: {lr: %g}}\nlr_scheduler: {config: {warmup_steps: %lld, "
                "initial_lr: %g, final_lr: %g}}\n",
                s->lr, (long long)warmup, s->lr / 100, s->lr / 10);
    if (!o->validation) text_puts(t, "eval_dataloaders: []\n");
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    const Size *s = &sizes[o->size];
    int64_t there, per_step = o->batch * o->sequence_length;
    TRY(count_tokens(a, o->data, &there));
    if (file_exists(o->output_path))
        return error_new("%s is there already; --output_path names another one", o->output_path);
    int64_t one_pass = (there - 1) / o->sequence_length / o->batch;
    double budget = o->tokens ? *o->tokens : (double)one_pass * (double)per_step;
    double wanted = floor(budget / (double)per_step);
    if (wanted > (double)one_pass) {
        log_warning("%g tokens were asked for, but %s has %lld: one pass over it is what it gives",
                    budget, o->data, (long long)there);
        wanted = (double)one_pass;
    }
    if (wanted < 2)
        return error_new("%lld tokens make %.0f steps of %lld x %lld tokens; --batch and "
                         "--sequence_length make steps smaller",
                         (long long)there, wanted, (long long)o->batch,
                         (long long)o->sequence_length);
    Text t = { 0 };
    const Pace pace = pace_of((int64_t)wanted);
    put_config(a, o, s, &pace, &t);
    Error *e = file_write(o->output_path, t.ptr, t.len);
    text_free(&t);
    if (!e)
        printf("%s: %lld steps of %lld tokens; modalities run --config_file_path %s\n",
               o->output_path, (long long)pace.steps, (long long)per_step, o->output_path);
    return e;
}

const Command command_top_init = {
    .name = "init",
    .doc = "Writes a short training configuration for a size, a budget and a data set.",
    .details = "The file extends modalities/training, which comes with the program; what it says "
               "itself are the choices of these options. Change them there, or add any other "
               "setting.",
    .examples = "modalities init data/train.pbin --validation data/validation.pbin --size 30m\n"
                "modalities init data/train.pbin --size 125m --tokens 2e9 --output_path run.yaml",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
