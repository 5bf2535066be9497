/* test_fields.c - every setting that is accepted has an effect that can be seen, or says that it
 * has none.
 *
 * The rows of tests/config/fields/ give each setting of each component, and of the `settings` of
 * each program, another value. Where the table says no_effect, both runs must show the same. */
#include "components.h"
#include "config/field_rows.h"
#include "config/registry.h"
#include "config/seen.h"
#include "data/pack_settings.h"
#include "test.h"
#include "train/generation_settings.h"
#include "train/settings.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/config/fields"

static const struct {
    const char *name;
    const Field *fields;
} programs[] = {
    { "training", training_config_fields },
    { "packing", pack_config_fields },
    { "generation", generation_config_fields },
};

static const Field *table_of(const Registry *r, const char *name)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(name, programs[i].name)) return programs[i].fields;
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        size_t n = strlen(d->kind);
        if (!strncmp(name, d->kind, n) && name[n] == '.' && !strcmp(name + n + 1, d->variant))
            return d->fields;
    }
    return NULL;
}

typedef struct Search {
    const char *name;
    const Field *found;
} Search;

static void compare(void *context, const char *name, const Field *f)
{
    Search *s = context;
    if (!strcmp(name, s->name)) s->found = f;
}

static const Field *find(Arena *a, const Field *fields, const char *name)
{
    Search s = { .name = name };
    field_names(a, fields, compare, &s);
    return s.found;
}

/* ---- the rows and the tables agree ---- */

typedef struct Coverage {
    Arena *arena;
    FieldBlocks *file;
    int n_files;
    const char *table;
    Text missing;
} Coverage;

static void look_for_row(void *context, const char *name, const Field *f)
{
    (void)f;
    Coverage *c = context;
    for (int i = 0; i < c->n_files; i++)
        for (int64_t k = 0; k < c->file[i].n; k++) {
            const FieldBlock *b = &c->file[i].item[k];
            for (int64_t j = 0; j < b->n_rows && !strcmp(b->table, c->table); j++)
                if (!strcmp(b->row[j].name, name)) return;
        }
    text_printf(&c->missing, "%s: %s has no row in " FOLDER "\n", c->table, name);
}

static void look_for_all(Coverage *c, const char *table, const Field *fields)
{
    c->table = table;
    field_names(c->arena, fields, look_for_row, c);
}

static void refuse_unknown(Coverage *c, const Registry *r)
{
    for (int i = 0; i < c->n_files; i++)
        for (int64_t k = 0; k < c->file[i].n; k++) {
            const FieldBlock *b = &c->file[i].item[k];
            const Field *fields = table_of(r, b->table);
            for (int64_t j = 0; j < b->n_rows; j++)
                if (!fields || !find(c->arena, fields, b->row[j].name))
                    text_printf(&c->missing, "%s:%d: %s has no setting %s\n", b->file,
                                b->row[j].line, b->table, b->row[j].name);
        }
}

TEST(every_setting_has_a_row_and_every_row_a_setting)
{
    Arena *a = arena_new();
    Registry *r;
    Coverage c = { .arena = a, .file = NEW_N(a, FieldBlocks, 64) };
    DIR *d = opendir(FOLDER);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".txt"))
            c.file[c.n_files++] = field_blocks_read(a, path_join(a, FOLDER, e->d_name));
    closedir(d);
    assert_no_error(components_registry(a, &r));
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *def = registry_at(r, i);
        look_for_all(&c, arena_printf(a, "%s.%s", def->kind, def->variant), def->fields);
    }
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        look_for_all(&c, programs[i].name, programs[i].fields);
    refuse_unknown(&c, r);
    fputs(c.missing.len ? c.missing.ptr : "", stderr); /* may be long */
    if (c.missing.len) fail_msg("rows and settings disagree");
    text_free(&c.missing);
    arena_free(a);
}

/* ---- the rows are true ---- */

/* Where the error is. */
static const char *tail(const char *text)
{
    enum { LONGEST = 700 };
    size_t n = strlen(text);
    return n > LONGEST ? text + n - LONGEST : text;
}

static void judge(Text *wrong, const FieldBlock *b, const FieldRow *row, const Field *f,
                  const Seen *base, const Seen *changed)
{
    bool is_same = !strcmp(base->text, changed->text);
    const bool is_alone = strcmp(b->program, "plan") != 0;
    const char *no_effect = f->no_effect || !is_alone ? f->no_effect : f->no_effect_alone;
    text_printf(wrong, "%s:%d: %s.%s = %s ", b->file, row->line, b->table, row->name, row->value);
    size_t n = wrong->len;
    if (row->refusal) {
        if (!changed->status)
            text_puts(wrong, "is not refused");
        else if (!strstr(changed->text, row->refusal))
            text_printf(wrong, "is refused otherwise: %s", tail(changed->text));
    } else if (changed->status) {
        text_printf(wrong, "fails: %s", tail(changed->text));
    } else if (no_effect && !is_same) {
        text_printf(wrong, "has an effect, although: %s", no_effect);
    } else if (no_effect && base->resolved && !strcmp(base->resolved, changed->resolved)) {
        text_puts(wrong, "is no other value");
    } else if (!no_effect && is_same) {
        text_puts(wrong, "changes nothing");
    }
    if (wrong->len == n) {
        while (n && wrong->ptr[n - 1] != '\n') n--;
        wrong->len = n;
        wrong->ptr[n] = 0;
    } else {
        text_putc(wrong, '\n');
    }
}

static void check_block(Arena *a, const Registry *r, const FieldBlock *b, Text *wrong)
{
    const Field *fields = table_of(r, b->table);
    Seen base = seen_run(a, b, NULL);
    if (base.status) fail_msg("%s:%d: %s", b->file, b->line, tail(base.text));
    for (int64_t i = 0; i < b->n_rows; i++) {
        const Field *f = find(a, fields, b->row[i].name);
        assert_non_null(f);
        Seen changed = seen_run(a, b, field_row_override(a, b, &b->row[i]));
        judge(wrong, b, &b->row[i], f, &base, &changed);
    }
}

static void check_file(const char *name)
{
    Arena *a = arena_new();
    Registry *r;
    Text wrong = { 0 };
    assert_no_error(components_registry(a, &r));
    FieldBlocks blocks = field_blocks_read(a, path_join(a, FOLDER, name));
    seen_prepare(a);
    for (int64_t i = 0; i < blocks.n; i++) check_block(a, r, &blocks.item[i], &wrong);
    fputs(wrong.len ? wrong.ptr : "", stderr); /* may be long */
    if (wrong.len) fail_msg("%s is not true", name);
    text_free(&wrong);
    arena_free(a);
}

TEST(every_setting_of_the_training_counts)
{
    check_file("training.txt");
}

TEST(every_setting_of_optimizers_and_schedulers_counts)
{
    check_file("optim.txt");
}

TEST(every_setting_of_models_counts)
{
    check_file("models.txt");
}

TEST(every_setting_of_hooks_and_profilers_counts)
{
    check_file("watch.txt");
}

TEST(every_setting_of_wrappers_and_initializers_counts)
{
    check_file("wrappers.txt");
}

TEST(every_setting_of_pipelines_counts)
{
    check_file("pipeline.txt");
}

TEST(every_setting_of_parallelism_counts)
{
    check_file("parallel.txt");
}

TEST(every_setting_of_the_data_counts)
{
    check_file("data.txt");
}

TEST(every_setting_of_numbers_counts)
{
    check_file("numbers.txt");
}

TEST(every_setting_of_checkpoints_and_reports_counts)
{
    check_file("outputs.txt");
}

TEST(every_setting_of_packing_and_generation_counts)
{
    check_file("text.txt");
}
