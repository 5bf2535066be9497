/* sweep_configs.c - combines alternatives and writes a configuration for each. */
#include "sweep/sweep_configs.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/md5.h"
#include "config/yaml_emit.h"
#include "sweep/sweep_runs.h"
#include <string.h>

enum { MOST_COMBINATIONS = 1000000 };

typedef struct Alternatives {
    Yaml **item;
    int64_t n;
} Alternatives;

static Error *expand(Arena *a, const Yaml *y, Alternatives *out);

static Yaml *empty_map(Arena *a)
{
    Yaml *m = NEW(a, Yaml);
    m->type = YAML_MAP;
    return m;
}

static Error *expand_map(Arena *a, const Yaml *y, Alternatives *out)
{
    Alternatives *of_key = NEW_N(a, Alternatives, y->n);
    out->n = 1;
    if (!y->n) return error_new("%s: `%s` is empty", yaml_place(a, y), yaml_path(a, y));
    for (int64_t k = 0; k < y->n; k++) {
        TRY(expand(a, y->item[k], &of_key[k]));
        if (of_key[k].n && out->n > MOST_COMBINATIONS / of_key[k].n)
            return error_new("%s: more than %d combinations", yaml_place(a, y), MOST_COMBINATIONS);
        out->n *= of_key[k].n;
    }
    out->item = NEW_N(a, Yaml *, out->n);
    for (int64_t i = 0; i < out->n; i++) {
        int64_t rest = i, block = out->n;
        out->item[i] = empty_map(a);
        for (int64_t k = 0; k < y->n; k++) {
            block /= of_key[k].n;
            yaml_set(a, out->item[i], y->key[k]->text,
                     yaml_copy(a, of_key[k].item[rest / block], NULL));
            out->item[i]->key[k] = y->key[k]; /* it may be no text: `on` */
            rest %= block;
        }
    }
    return NULL;
}

static Error *expand(Arena *a, const Yaml *y, Alternatives *out)
{
    if (y->type == YAML_MAP) return expand_map(a, y, out);
    if (y->type == YAML_LIST) {
        *out = (Alternatives){ y->item, y->n };
        if (!y->n)
            return error_new("%s: `%s` has no alternatives", yaml_place(a, y), yaml_path(a, y));
        return NULL;
    }
    out->item = NEW_N(a, Yaml *, 1);
    out->item[0] = (Yaml *)y;
    out->n = 1;
    return NULL;
}

Error *sweep_combinations(Arena *a, const Yaml *sweep, Yaml ***out, int64_t *n)
{
    Alternatives all = { 0 };
    TRY(expand(a, sweep, &all));
    *out = all.item;
    *n = all.n;
    return NULL;
}

int64_t sweep_alternatives_of(Arena *a, const char *path, Yaml ***out)
{
    Yaml *root;
    int64_t n = 0;
    if (sweep_run_is_in(a, path)) return 0;
    Error *e = yaml_read(a, path, &root);
    if (!e) {
        const Yaml *sweep = yaml_get(root, "sweep");
        if (sweep && sweep->type == YAML_MAP) e = sweep_combinations(a, sweep, out, &n);
    }
    if (e) n = 0;
    error_free(e);
    return n;
}

/* The first 16 hex digits of the MD5 of the YAML, as the original names folders. */
static const char *hash_of(Arena *a, const Yaml *y)
{
    Text t = { 0 };
    Md5 m = { 0 };
    char hex[33];
    yaml_emit_unsorted(y, &t);
    md5_add(&m, t.ptr, t.len);
    md5_finish(&m, hex);
    text_free(&t);
    return arena_printf(a, "%.16s", hex);
}

/* {sweep: the combination, and the rest of the file in its order}. */
static Error *write_config(Arena *a, const Yaml *root, const Yaml *combination, const char *folder,
                           const char *name)
{
    Yaml *config = empty_map(a);
    Text t = { 0 };
    yaml_set(a, config, "sweep", yaml_copy(a, combination, NULL));
    for (int64_t k = 0; k < root->n; k++)
        if (strcmp(root->key[k]->text, "sweep"))
            yaml_set(a, config, root->key[k]->text, yaml_copy(a, root->item[k], NULL));
    yaml_emit_unsorted(config, &t);
    Error *e = make_directories(folder);
    if (!e) e = file_write_unsynced(path_join(a, folder, name), t.ptr, t.len);
    text_free(&t);
    return e;
}

static Error *write_all(Arena *a, const char *sweep_file, const Yaml *root, const char *now,
                        Alternatives all, const IntList *world_sizes, const SweepTree *to)
{
    Arena *scratch = arena_new();
    Error *e = NULL;
    for (int64_t i = 0; !e && i < all.n; i++) {
        const char *hash = hash_of(scratch, all.item[i]);
        for (int64_t w = 0; !e && w < world_sizes->n; w++)
            e = write_config(scratch, root, all.item[i],
                             arena_printf(scratch, "%s/%lld/%s_%s", to->folder,
                                          (long long)world_sizes->item[w], hash, now),
                             path_name(sweep_file));
        arena_clear(scratch);
    }
    arena_free(scratch);
    (void)a;
    return e;
}

/* The configurations lie elsewhere than the file that they are made from. */
static void lead_back(Arena *a, const char *sweep_file, Yaml *extends)
{
    if (!extends) return;
    for (int64_t i = 0; i < extends->n; i++) lead_back(a, sweep_file, extends->item[i]);
    bool is_beside = extends->type == YAML_STRING && extends->text[0] != '/' &&
                     strncmp(extends->text, "modalities/", 11) != 0;
    if (!is_beside) return;
    extends->text = path_absolute(a, path_join(a, path_folder(a, sweep_file), extends->text));
    extends->text_len = strlen(extends->text);
}

Error *sweep_configs_write(Arena *a, const char *sweep_file, const char *output_folder,
                           const IntList *world_sizes, SweepTree *out)
{
    Yaml *root;
    Alternatives all;
    char now[32];
    TRY(yaml_read(a, sweep_file, &root));
    lead_back(a, sweep_file, yaml_get(root, "extends"));
    const Yaml *sweep = yaml_get(root, "sweep");
    if (!sweep || sweep->type != YAML_MAP)
        return error_new("%s has no mapping `sweep`: {name: [alternatives], ...}, to which the "
                         "rest refers by ${sweep.name}",
                         sweep_file);
    TRY(sweep_combinations(a, sweep, &all.item, &all.n));
    if (all.n == 1)
        log_warning("%s has one combination only: this is a single configuration", sweep_file);
    clock_format("%Y-%m-%d__%H-%M-%S", now, sizeof now);
    *out = (SweepTree){ arena_printf(a, "%s/%s_%s", output_folder, now, hash_of(a, root)), all.n };
    if (file_exists(out->folder)) return error_new("%s is there already", out->folder);
    Error *e = write_all(a, sweep_file, root, now, all, world_sizes, out);
    return e ? error_join(e, remove_tree(out->folder)) : NULL;
}
