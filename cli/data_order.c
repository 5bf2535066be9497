/* data_order.c - `data order`: which tokens of which documents a training run sees at which step.
 */
#include "base/json.h"
#include "command.h"
#include "components.h"
#include "config/builder.h"
#include "config/config.h"
#include "data/data.h"
#include "data/document_finder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_TABLE, FORMAT_JSONL };
static const char *const formats[] = { "table", "jsonl", NULL };

typedef struct Options {
    const char *config_file_path, *steps, *last_checkpoint_info_file_path;
    int format;
    StringList set;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL, "the training YAML", .flags = FIELD_EXISTS),
    FIELD_STRING(Options, steps, NULL, "first:last, both included, or one step; the first is 1"),
    FIELD_CHOICE(Options, format, "table", formats,
                 "columns separated by tabs, or an object per sample"),
    FIELD_PATH(Options, last_checkpoint_info_file_path, "null",
               "of the run that a warm start goes on with", .flags = FIELD_EXISTS),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override: key.path=value"),
    { 0 },
};

/* What is needed of a training configuration. */
typedef struct StepProfile {
    int64_t gradient_accumulation_steps;
} StepProfile;
typedef struct TrainingProgress {
    int64_t num_seen_steps;
} TrainingProgress;
typedef struct Settings {
    StepProfile step_profile;
    TrainingProgress training_progress;
} Settings;
typedef struct Config {
    Settings settings;
    Loader *train_dataloader;
} Config;

static const Field profile_fields[] = {
    FIELD_INT(StepProfile, gradient_accumulation_steps, NULL, 1, INFINITY, "batches of a step"),
    { 0 },
};
static const Field progress_fields[] = {
    FIELD_INT(TrainingProgress, num_seen_steps, "0", 0, INFINITY, "steps of earlier runs"),
    { 0 },
};
static const Field settings_fields[] = {
    FIELD_STRUCT(Settings, step_profile, StepProfile, profile_fields, NULL, "what one step is",
                 .flags = FIELD_IGNORE_OTHERS),
    FIELD_STRUCT(Settings, training_progress, TrainingProgress, progress_fields, "{}",
                 "where training starts", .flags = FIELD_IGNORE_OTHERS),
    { 0 },
};
static const Field config_fields[] = {
    FIELD_STRUCT(Config, settings, Settings, settings_fields, NULL, "numbers of the run",
                 .flags = FIELD_IGNORE_OTHERS),
    FIELD_COMPONENT(Config, train_dataloader, Loader, "data_loader", NULL, "batches to train on"),
    { 0 },
};

/* A sample as it is printed. */
typedef struct Line {
    int64_t step, microbatch, row, sample;
    const char *description; /* of the dataset */
    SamplePlace place;
} Line;

typedef struct Printer {
    Arena *arena;
    int format;
    DocumentFinder *finder; /* of the files seen so far */
    int64_t n, cap;
} Printer;

static Error *finder_of(Printer *p, const Pbin *file, const DocumentFinder **out)
{
    for (int64_t i = 0; i < p->n; i++)
        if (p->finder[i].file == file) {
            *out = &p->finder[i];
            return NULL;
        }
    p->finder = arena_grow(p->arena, p->finder, p->n, &p->cap, sizeof *p->finder);
    TRY(document_finder_open(p->arena, file, &p->finder[p->n]));
    *out = &p->finder[p->n++];
    return NULL;
}

/* "DOCUMENT:FIRST-LAST ..." or a JSON list; tokens are counted from the document's beginning. */
static void put_documents(const DocumentFinder *f, int format, SamplePlace s, Text *out)
{
    for (int64_t at = s.first, end = s.first + s.n, first; at < end;) {
        int64_t document = document_finder_find(f, at, &first);
        int64_t stop = f->end[document] < end ? f->end[document] : end;
        const char *form = format == FORMAT_TABLE
                               ? "%s%lld:%lld-%lld"
                               : "%s{\"document\": %lld, \"first\": %lld, \"last\": %lld}";
        const char *separator = at == s.first ? "" : format == FORMAT_TABLE ? " " : ", ";
        text_printf(out, form, separator, (long long)document, (long long)(at - first),
                    (long long)(stop - 1 - first));
        at = stop;
    }
}

static void put_table_line(const Line *l, const Text *documents, Text *out)
{
    const char *file = l->place.file ? l->place.file->path : l->description;
    text_printf(out, "%lld\t%lld\t%lld\t%lld\t%s\t", (long long)l->step, (long long)l->microbatch,
                (long long)l->row, (long long)l->sample, file);
    if (l->place.file)
        text_printf(out, "%lld-%lld\t%s\n", (long long)l->place.first,
                    (long long)(l->place.first + l->place.n - 1), documents->ptr);
    else
        text_puts(out, "-\t-\n");
}

static void put_json_line(const Line *l, const Text *documents, Text *out)
{
    const char *file = l->place.file ? l->place.file->path : l->description;
    text_printf(out, "{\"step\": %lld, \"microbatch\": %lld, \"row\": %lld, \"sample\": %lld, ",
                (long long)l->step, (long long)l->microbatch, (long long)l->row,
                (long long)l->sample);
    text_puts(out, l->place.file ? "\"file\": " : "\"place\": ");
    text_json_string(out, str_of(file));
    if (l->place.file)
        text_printf(out, ", \"first\": %lld, \"last\": %lld, \"documents\": [%s]",
                    (long long)l->place.first, (long long)(l->place.first + l->place.n - 1),
                    documents->ptr);
    text_puts(out, "}\n");
}

static Error *print_line(Printer *p, const Line *l)
{
    Text documents = { 0 }, line = { 0 };
    if (l->place.file) {
        const DocumentFinder *f;
        TRY(finder_of(p, l->place.file, &f));
        put_documents(f, p->format, l->place, &documents);
    }
    if (p->format == FORMAT_TABLE)
        put_table_line(l, &documents, &line);
    else
        put_json_line(l, &documents, &line);
    fwrite(line.ptr, 1, line.len, stdout);
    text_free(&documents);
    text_free(&line);
    return NULL;
}

/* "3:7" or "3" */
static Error *read_steps(const char *text, int64_t *from, int64_t *to)
{
    char *end;
    *from = *to = strtoll(text, &end, 10);
    if (end != text && *end == ':') {
        const char *second = end + 1;
        *to = strtoll(second, &end, 10);
        if (end == second) *to = 0;
    }
    if (end == text || *end || *from < 1 || *to < *from)
        return error_usage("--steps %s: the form is first:last, from 1", text);
    return NULL;
}

static Error *print_steps(Printer *p, const Config *c, int64_t from, int64_t to)
{
    const Loader *l = c->train_dataloader;
    int64_t seen = c->settings.training_progress.num_seen_steps;
    int64_t n_micro = c->settings.step_profile.gradient_accumulation_steps;
    int64_t n_steps = loader_count(l) / n_micro, size = loader_batch_size(l);
    if (from <= seen || to > seen + n_steps)
        return error_new("--steps: this run has data for steps %lld to %lld (%lld batches of %lld "
                         "samples on this rank, %lld per step)",
                         (long long)seen + 1, (long long)seen + n_steps, (long long)loader_count(l),
                         (long long)size, (long long)n_micro);
    if (p->format == FORMAT_TABLE)
        printf("step\tmicrobatch\trow\tsample\tfile\ttokens\tdocuments\n");
    for (int64_t i = (from - seen - 1) * n_micro * size; i < (to - seen) * n_micro * size; i++) {
        Text description = { 0 };
        Line line = { .step = seen + 1 + i / size / n_micro,
                      .microbatch = i / size % n_micro,
                      .row = i % size };
        line.place = loader_locate(l, i, &line.sample, &description);
        line.description = description.ptr;
        Error *e = print_line(p, &line);
        text_free(&description);
        if (e) return e;
    }
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Rank rank;
    ResolverContext context = { .rank = &rank,
                                .config_file_path = o->config_file_path,
                                .experiments_root_path = "experiments",
                                .experiment_id = "experiment_id" };
    Registry *r;
    Yaml *root;
    Config c = { 0 };
    int64_t from, to;
    TRY(rank_of_process(&rank));
    TRY(read_steps(o->steps, &from, &to));
    if (o->last_checkpoint_info_file_path)
        TRY(yaml_read_json(a, o->last_checkpoint_info_file_path,
                           (Yaml **)&context.checkpoint_paths));
    TRY(config_load(a, o->config_file_path, o->set, &context, &root));
    TRY(components_registry(a, &r));
    TRY(builder_build(builder_new(a, r, root, &rank), config_fields, &c));
    return print_steps(&(Printer){ .arena = a, .format = o->format }, &c, from, to);
}

const Command command_data_order = {
    .group = "data",
    .name = "order",
    .doc = "Prints which tokens of which documents a training run sees at which step.",
    .details = "A line per sample: step, microbatch and row in it, number of the sample in the "
               "dataset, file, its tokens, and DOCUMENT:FIRST-LAST for each document in it, with "
               "tokens counted from the document's beginning. It is the data of one rank: the "
               "variables RANK, LOCAL_RANK and WORLD_SIZE say which. Takes 8 bytes of memory per "
               "document.",
    .examples = "modalities data order --config_file_path train.yaml --steps 100:110\n"
                "RANK=3 LOCAL_RANK=3 WORLD_SIZE=4 modalities data order --config_file_path "
                "train.yaml --steps 1 --format jsonl",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
