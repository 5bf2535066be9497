/* keep_steps.c - an observer that keeps the first steps of a run, and what they were made of. */
#include "train/keep_steps.h"
#include "base/log.h"
#include "base/sha256.h"
#include "config/field_paths.h"
#include <string.h>

typedef struct Keeper {
    Arena *arena;
    const char *folder;
    Provenance provenance;
    bool has_begun, has_failed;
    int64_t seen_steps; /* before this job */
    void (*next)(void *context, const StepReport *report);
    void *context;
} Keeper;

const char *config_digest(Arena *a, const char *text)
{
    char hex[65];
    sha256_hex(text, strlen(text), hex);
    return arena_string(a, hex);
}

static void add_plugins(Arena *a, const Yaml *root, PathList *to)
{
    const Yaml *list = yaml_get(root, "plugins");
    for (int64_t i = 0; list && list->type == YAML_LIST && i < list->n; i++) {
        to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
        to->item[to->n++] = list->item[i]->text;
    }
}

Provenance run_provenance(Arena *a, const RunConfig *c, const RunSettings *s)
{
    PathRoles *roles = path_roles_new(a);
    PathList files = { 0 };
    builder_paths_add(roles, c->builder, training_config_fields);
    path_roles_list_read(roles, a, &files);
    add_plugins(a, c->root, &files);
    /* the configuration is told by its digest */
    int64_t n = 0;
    for (int64_t i = 0; i < files.n; i++)
        if (strcmp(files.item[i], c->config.settings.config_file_path) != 0)
            files.item[n++] = files.item[i];
    files.n = n;
    Provenance p = provenance_of_process(a, &files);
    p.ranks = s->rank ? s->rank->world_size : 1;
    return p;
}

static Error *keep(Keeper *k, const StepReport *r)
{
    if (!k->has_begun) {
        k->provenance.device = r->store->device->name;
        if (!k->seen_steps) TRY(provenance_write(k->folder, &k->provenance));
        TRY(first_steps_begin(k->folder, k->seen_steps));
        k->has_begun = true;
    }
    const StepRecord record = { r->step, r->grad_norm, r->sum, r->n_microbatches };
    return r->step > MOST_FIRST_STEPS ? NULL : first_steps_add(k->folder, &record);
}

static void observe(void *context, const StepReport *r)
{
    Keeper *k = context;
    if (k->next) k->next(k->context, r);
    if (k->has_failed) return;
    Error *e = keep(k, r);
    if (!e) return;
    k->has_failed = true;
    log_warning("this run cannot be reproduced: %s", error_text(e));
    error_free(e);
}

void keep_steps(Arena *a, const RunConfig *c, const RunSettings *s, TrainingJob *job)
{
    Keeper *k = NEW(a, Keeper);
    *k = (Keeper){ .arena = a,
                   .folder = path_absolute(a, c->folder),
                   .seen_steps = job->seen_steps,
                   .next = job->observe,
                   .context = job->observer };
    if (!job->seen_steps) {
        k->provenance = run_provenance(a, c, s);
        k->provenance.config = config_digest(a, run_config_text(a, c));
    }
    job->observe = observe;
    job->observer = k;
}
