/* config.c - `modalities config check` and `config resolve`. */
#include "config/config.h"
#include "base/log.h"
#include "base/terminal.h"
#include "command.h"
#include "components.h"
#include "config/builder.h"
#include "config/yaml_emit.h"
#include "config/yaml_origins.h"
#include "configurations.h"
#include "exec/pipeline_describe.h"
#include "short_form.h"
#include "sweep/sweep_configs.h"
#include "sweep/sweep_loss.h"
#include "train/training_try.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_YAML, FORMAT_JSON };
static const char *const formats[] = { "yaml", "json", NULL };

typedef struct Options {
    const char *config_file_path, *experiments_root_path, *experiment_id,
        *last_checkpoint_info_file_path;
    StringList set;
    int format;
    bool strict, print_schedule, origins;
} Options;

/* clang-format off */
#define SOURCE \
    FIELD_PATH(Options, config_file_path, NULL, "the YAML file", .flags = FIELD_EXISTS), \
    FIELD_PATH(Options, experiments_root_path, "experiments", "value of ${modalities_env:experiments_root_path}", .role = PATH_BEGINNING), \
    FIELD_STRING(Options, experiment_id, "experiment_id", "value of ${modalities_env:experiment_id}"), \
    FIELD_PATH(Options, last_checkpoint_info_file_path, "null", "last_checkpoint_info.json, for ${warmstart_env:checkpoint_paths}", .flags = FIELD_EXISTS), \
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override: key.path=value")
static const Field check_options[] = {
    SOURCE,
    FIELD_BOOL(Options, strict, "false", "inputs that are not there yet are errors, as for the command that takes the file"),
    FIELD_BOOL(Options, print_schedule, "false", "show what each rank of the pipeline holds and does in a step"),
    { 0 },
};
static const Field resolve_options[] = { SOURCE, FIELD_CHOICE(Options, format, "yaml", formats, "of the output"), FIELD_BOOL(Options, origins, "false", "as YAML in the order of the file, with a comment where each value comes from"), { 0 } };
/* clang-format on */

static Error *load(Arena *a, const Options *o, const Rank *rank, Yaml **out, Problems *unresolved)
{
    ResolverContext c = { .rank = rank,
                          .config_file_path = o->config_file_path,
                          .experiments_root_path = o->experiments_root_path,
                          .experiment_id = o->experiment_id };
    Yaml *info = NULL;
    if (o->last_checkpoint_info_file_path)
        TRY(yaml_read_json(a, o->last_checkpoint_info_file_path, &info));
    c.checkpoint_paths = info;
    return config_load_with_holes(a, o->config_file_path, o->set, &c, out, unresolved);
}

/* As the command that takes such a file does before it builds anything. */
static Error *check_as_command(Arena *a, const Options *o, const Rank *rank, const Registry *r,
                               Yaml *root, const Problems *unresolved, Builder **out,
                               TrainingConfig *training)
{
    const Configuration *c = configuration_of(root);
    Builder *b = builder_new(a, r, root, rank);
    builder_know(b, unresolved);
    *out = b;
    if (!o->strict) builder_allow_absent(b);
    if (!c) return NULL;
    if (c->keys == training_config_fields) {
        TRY(training_config_complete(a, root, rank, o->experiments_root_path));
        TRY(training_config_validate(b, training));
        return training_config_try(b, training,
                                   o->last_checkpoint_info_file_path ? o->config_file_path : NULL);
    }
    void *to = arena_alloc(a, c->size);
    TRY(builder_validate(b, c->keys, to));
    return c->check ? error_wrap(c->check(to), "%s: settings", o->config_file_path) : NULL;
}

/* What is said of a file without a mistake is added to `said`. */
static Error *check_file(Arena *a, const Options *o, Text *said)
{
    Yaml *root;
    Registry *r;
    Rank rank;
    Problems unresolved = { 0 };
    TRY(rank_of_process(&rank));
    TRY(load(a, o, &rank, &root, &unresolved));
    TRY(components_registry(a, &r));
    Builder *b;
    TrainingConfig training = { 0 };
    TRY(check_as_command(a, o, &rank, r, root, &unresolved, &b, &training));
    TRY(builder_validate_all(b));
    const Configuration *kind = configuration_of(root);
    if (!kind && !builder_count(b))
        return error_new("%s: there is no component in it, and it is no configuration for %s",
                         o->config_file_path, configuration_names(a));
    text_printf(said, "%s%s%lld component%s, no mistake found", kind ? kind->name : "",
                kind ? ", " : "", (long long)builder_count(b), builder_count(b) == 1 ? "" : "s");
    int64_t absent = builder_count_absent(b);
    if (absent) text_printf(said, "; inputs that are not there yet: %lld", (long long)absent);
    text_putc(said, '\n');
    if (!o->print_schedule) return NULL;
    printf("%s: %s", o->config_file_path, said->ptr);
    said->len = 0;
    const StepProfile *profile = &training.settings.step_profile;
    const AppState *state = training.app_state;
    return pipeline_describe(
        state && state->model ? state->model->pipeline : NULL, profile->gradient_accumulation_steps,
        profile->local_train_micro_batch_size, terminal_picture_width(), stdout);
}

/* ---- a sweep: each of its configurations ---- */

typedef struct Mistake {
    const char *text, *label; /* label: the first combination with it */
    int64_t n;
} Mistake;

static void note_mistake(Arena *a, Mistake *mistake, int64_t *n, const char *text,
                         const char *label)
{
    for (int64_t i = 0; i < *n; i++)
        if (!strcmp(mistake[i].text, text)) {
            mistake[i].n++;
            return;
        }
    mistake[(*n)++] = (Mistake){ arena_string(a, text), arena_string(a, label), 1 };
}

static void put_override(Arena *a, const char *assignment, StringList *to)
{
    const char **item = NEW_N(a, const char *, to->n + 1);
    for (int64_t i = 0; i < to->n; i++) item[i] = to->item[i];
    item[to->n] = assignment;
    *to = (StringList){ .item = item, .n = to->n + 1 };
}

/* "sweep.lr=0.001", ...: a mistake names the value that it comes from, and no other. */
static void put_overrides(Arena *a, const Yaml *y, const char *path, StringList *to)
{
    if (y->type == YAML_MAP && y->n) {
        for (int64_t k = 0; k < y->n; k++)
            put_overrides(a, y->item[k], arena_printf(a, "%s.%s", path, y->key[k]->text), to);
        return;
    }
    Text json = { 0 };
    yaml_emit_json(y, 0, &json);
    put_override(a, arena_printf(a, "%s=%s", path, json.ptr), to);
    text_free(&json);
}

/* Each mistake is told once. Warnings are those of the first: the others have most of them, too. */
static Error *check_sweep(Arena *a, const Options *o, Yaml *const *combination, int64_t n)
{
    Mistake *mistake = NEW_N(a, Mistake, n);
    int64_t n_mistakes = 0;
    Text said = { 0 };
    for (int64_t i = 0; i < n; i++) {
        Arena *scratch = arena_new();
        Options one = *o;
        one.print_schedule = false;
        one.set = (StringList){ 0 };
        put_overrides(scratch, combination[i], "sweep", &one.set);
        for (int64_t k = 0; k < o->set.n; k++) put_override(scratch, o->set.item[k], &one.set);
        said.len = 0;
        if (i) log_set_level(LOG_SILENT);
        Error *e = check_file(scratch, &one, &said);
        log_set_level(LOG_INFO);
        if (e)
            note_mistake(a, mistake, &n_mistakes, error_text(e),
                         sweep_combination_label(scratch, combination[i]));
        error_free(e);
        arena_free(scratch);
    }
    Error *all = NULL;
    for (int64_t i = 0; i < n_mistakes; i++)
        all = error_join(all, error_new("%s: %lld of the %lld configurations of this sweep, "
                                        "the first with %s:\n%s",
                                        o->config_file_path, (long long)mistake[i].n, (long long)n,
                                        mistake[i].label, mistake[i].text));
    if (!all)
        printf("%s: a sweep of %lld configurations: %s", o->config_file_path, (long long)n,
               said.ptr);
    text_free(&said);
    return all;
}

static Error *run_check(Arena *a, const void *options)
{
    const Options *o = options;
    Yaml **combination;
    const int64_t n = sweep_alternatives_of(a, o->config_file_path, &combination);
    if (n > 1) return check_sweep(a, o, combination, n);
    Text said = { 0 };
    Error *e = check_file(a, o, &said);
    if (!e && said.len) printf("%s: %s", o->config_file_path, said.ptr);
    text_free(&said);
    return e;
}

static Error *run_resolve(Arena *a, const void *options)
{
    const Options *o = options;
    Yaml *root;
    Registry *r;
    Rank rank;
    Problems unresolved = { 0 };
    TRY(rank_of_process(&rank));
    TRY(load(a, o, &rank, &root, &unresolved));
    TRY(problems_error(&unresolved));
    TRY(components_registry(a, &r));
    Text t = { 0 };
    if (o->origins)
        yaml_origins(root, &t);
    else if (o->format == FORMAT_YAML)
        yaml_emit(root, &t);
    else
        yaml_emit_json(root, 2, &t);
    if (o->format == FORMAT_YAML) short_form_explain(r, root, &t);
    fwrite(t.ptr, 1, t.len, stdout);
    if (o->format == FORMAT_JSON) putchar('\n');
    text_free(&t);
    return NULL;
}

const Command command_config_check = {
    .group = "config",
    .name = "check",
    .doc = "Checks a configuration as the command that takes it does before it begins, and reports "
           "all mistakes at once.",
    .details =
        "A training's first batch is read, its step is planned, and the checkpoint that it "
        "begins with is held against its model. Nothing is written. Inputs that are not "
        "there yet, and too little memory, are warnings; with --strict they are errors. Of a "
        "sweep each configuration is checked, and each mistake told once.",
    .examples = "modalities config check --config_file_path train.yaml\n"
                "modalities config check --config_file_path train.yaml --set "
                "settings.step_profile.dp_degree=2\n"
                "WORLD_SIZE=8 modalities config check --config_file_path train.yaml "
                "--print_schedule",
    .options = check_options,
    .options_size = sizeof(Options),
    .run = run_check,
};

const Command command_config_resolve = {
    .group = "config",
    .name = "resolve",
    .doc = "Prints a configuration with every ${...} replaced by its value.",
    .details = "Comments say what a block of model.parallelized stands for in the words of the "
               "wrappers.",
    .examples = "modalities config resolve --config_file_path train.yaml\n"
                "modalities config resolve --config_file_path train.yaml --format json",
    .options = resolve_options,
    .options_size = sizeof(Options),
    .run = run_resolve,
};
