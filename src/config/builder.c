/* builder.c - turns a resolved tree into components, depth first.
 *
 * Every value of the tree is rebuilt with its components in place of their mappings: an integer
 * component becomes an integer node, others a node that points to the Component. Field tables then
 * read this tree like any other. The same walk serves validation, where only light components are
 * built, and the real build.
 *
 * As in the Python program, a component under a top-level key and the target of a reference are
 * built once; a plain top-level list or mapping that is reached directly and referenced later is
 * built twice. */
#include "config/builder.h"
#include "base/log.h"
#include "base/map.h"
#include "config/field_read.h"
#include "config/instantiate.h"
#include <string.h>

Builder *builder_new(Arena *run, const Registry *r, const Yaml *root, const Rank *rank)
{
    Builder *b = NEW(run, Builder);
    *b = (Builder){ .arena = run,
                    .registry = r,
                    .root = root,
                    .rank = rank ? rank : &rank_alone,
                    .plugins = { .arena = run } };
    registry_load(r, root, &b->plugins);
    return b;
}

static void start(Builder *b, bool is_dry)
{
    b->is_dry = is_dry;
    b->problems = b->notes = (Problems){ .arena = b->arena };
    b->done = map_new(b->arena);
    b->n_open = 0;
    b->n = b->cap = 0;
    b->built = NULL;
}

static Yaml *rebuild(Builder *b, const Yaml *y);

/* The same value where `use` refers to it. */
static Yaml *at_place_of(Builder *b, const Yaml *value, const Yaml *use)
{
    Yaml *y = arena_copy(b->arena, value, sizeof *value);
    y->parent = use->parent;
    y->index = use->index;
    y->file = use->file;
    y->line = use->line;
    y->column = use->column;
    return y;
}

static Yaml *rebuild_children(Builder *b, const Yaml *y)
{
    Yaml *made = builder_stand_in(b, y, y->type);
    for (int64_t i = 0; i < y->n; i++) {
        yaml_append(b->arena, made, rebuild(b, y->item[i]));
        made->key[i] = y->key[i];
    }
    return made;
}

static bool is_component(const Yaml *y)
{
    return y->type == YAML_MAP && yaml_get(y, "component_key");
}

static bool is_reference(const Yaml *y)
{
    return y->type == YAML_MAP && y->n == 2 && yaml_get(y, "instance_key") &&
           yaml_get(y, "pass_type");
}

static Yaml *build_component(Builder *b, const Yaml *y)
{
    /* siblings of config are built, too, and not used */
    const Yaml *children = rebuild_children(b, y);
    return instantiate(b, y, yaml_get(children, "config"));
}

static void report_cycle(Builder *b, const Yaml *at, const char *key)
{
    Text chain = { 0 };
    int i = 0;
    while (i < b->n_open && strcmp(b->open[i], key)) i++;
    for (; i < b->n_open; i++) text_printf(&chain, "%s -> ", b->open[i]);
    problem_add(&b->problems, at, NULL, "cycle", "the components need each other: %s%s",
                chain.ptr ? chain.ptr : "", key);
    text_free(&chain);
}

static bool is_open(const Builder *b, const char *key)
{
    for (int i = 0; i < b->n_open; i++)
        if (!strcmp(b->open[i], key)) return true;
    return false;
}

/* The value of a top-level key, as `at` needs it. */
static Yaml *build_top(Builder *b, const char *key, const Yaml *at)
{
    const Yaml *y = yaml_get(b->root, key);
    if (is_open(b, key) || b->n_open == MAX_DEPTH) {
        report_cycle(b, at, key);
        return instantiate_hole(b, at);
    }
    b->open[b->n_open++] = key;
    Yaml *made = rebuild(b, y);
    b->n_open--;
    return made;
}

static Yaml *build_reference(Builder *b, const Yaml *y)
{
    const Yaml *key = yaml_get(y, "instance_key");
    if (key->is_hole) return instantiate_hole(b, y);
    if (key->type != YAML_STRING) {
        problem_add(&b->problems, key, NULL, "string_type",
                    "%s; allowed: the name of a top-level key", yaml_show(b->arena, key));
        return instantiate_hole(b, y);
    }
    if (!yaml_get(b->root, key->text)) {
        problem_add(&b->problems, key, NULL, "missing_reference",
                    "there is no top-level key \"%s\"%s", key->text,
                    problem_hint(b->arena, b->root, key->text))
            ->subject = key->text;
        return instantiate_hole(b, y);
    }
    const Yaml *made = map_get(b->done, str_of(key->text));
    if (!made) {
        made = build_top(b, key->text, y);
        map_set(b->done, str_of(key->text), (void *)made);
    }
    return at_place_of(b, made, y);
}

static Yaml *rebuild(Builder *b, const Yaml *y)
{
    if (is_reference(y)) return build_reference(b, y);
    if (is_component(y)) return build_component(b, y);
    return y->type == YAML_LIST || y->type == YAML_MAP ? rebuild_children(b, y) : (Yaml *)y;
}

/* A top-level key reached directly: of those only components are remembered. */
static Yaml *build_key(Builder *b, int64_t i)
{
    const char *key = b->root->key[i]->text;
    Yaml *made = map_get(b->done, str_of(key));
    if (made) return made;
    made = build_top(b, key, b->root->item[i]);
    if (is_component(b->root->item[i])) map_set(b->done, str_of(key), made);
    return made;
}

/* Required keys in the order of the table, then the others that are there. */
static Yaml *build_keys(Builder *b, const Field *keys)
{
    Yaml *made = builder_stand_in(b, b->root, YAML_MAP);
    for (int is_optional = 0; is_optional < 2; is_optional++) {
        for (const Field *f = keys; f->type != FIELD_END; f++) {
            const Yaml *y = field_value(f, b->root);
            if (!y || (f->fallback != NULL) != is_optional) continue;
            Yaml *value = build_key(b, y->index);
            yaml_append(b->arena, made, arena_copy(b->arena, value, sizeof *value));
            made->key[made->n - 1] = b->root->key[y->index];
        }
    }
    return made;
}

/* Whether a required key is missed; what says so names the key that seems to be meant by it. */
static bool hint_at_missed(Builder *b, const char *name, const Yaml *typo)
{
    bool is_missed = false;
    for (int64_t i = 0; i < b->problems.n; i++) {
        Problem *p = &b->problems.item[i];
        if (!p->subject || strcmp(p->subject, name) != 0) continue;
        is_missed = true;
        if (strcmp(p->code, "missing") != 0) continue;
        p->place = yaml_place(b->arena, typo);
        p->text = arena_printf(b->arena, "%s; is it meant by \"%s\" here?", p->text, typo->text);
    }
    return is_missed;
}

/* A component of another kind says itself what it is. */
static bool is_of_other_kind(const Yaml *item, const Field *meant)
{
    const Yaml *kind = item->type == YAML_MAP ? yaml_get(item, "component_key") : NULL;
    return kind && kind->type == YAML_STRING && meant && meant->kind &&
           strcmp(kind->text, meant->kind) != 0;
}

/* A mapping that nothing uses and that is no component itself may be meant to change the component
 * or the settings beside it whose name is nearest. */
static const char *meant_beside(Builder *b, int64_t i)
{
    enum { MOST = 1000 }; /* keys that are compared with each other */
    const Yaml *item = b->root->item[i];
    if (b->root->n > MOST || item->type != YAML_MAP || yaml_get(item, "component_key")) return NULL;
    const char **beside = NEW_N(b->arena, const char *, b->root->n);
    int n = 0;
    for (int64_t k = 0; k < b->root->n; k++)
        if (k != i) beside[n++] = b->root->key[k]->text;
    return nearest_name(b->root->key[i]->text, beside);
}

/* Top-level keys are free, as something may refer to them; one that nothing used may be a
 * misspelled one. */
static void note_unused_keys(Builder *b, const Field *keys)
{
    int n = 0;
    while (keys[n].type != FIELD_END) n++;
    const char **missing = NEW_N(b->arena, const char *, n + 1);
    n = 0;
    for (const Field *f = keys; f->type != FIELD_END; f++)
        if (!field_value(f, b->root)) missing[n++] = f->name;
    for (int64_t i = 0; i < b->root->n; i++) {
        const char *key = b->root->key[i]->text, *near = nearest_name(key, missing);
        bool is_used = b->root->key[i]->is_referred || map_get(b->done, str_of(key));
        if (field_find(keys, key) || !strcmp(key, "plugins") || is_used) continue;
        if (!near) near = meant_beside(b, i);
        if (!near) continue;
        if (is_of_other_kind(b->root->item[i], field_find(keys, near))) continue;
        bool is_missed = hint_at_missed(b, near, b->root->key[i]);
        bool is_told = is_missed || (b->known && problem_about(b->known, near));
        if (is_told) continue;
        problem_add(&b->notes, b->root->key[i], key, "unknown_key",
                    "this key is not used; did you mean \"%s\"?", near);
    }
}

static void log_notes(const Builder *b)
{
    for (int64_t i = 0; i < b->notes.n; i++)
        log_warning("%s: %s: %s", b->notes.item[i].place, b->notes.item[i].path,
                    b->notes.item[i].text);
}

static void run(Builder *b, const Field *keys, bool is_dry, void *to)
{
    start(b, is_dry);
    const Yaml *made = build_keys(b, keys);
    FieldReader r = { .arena = b->arena,
                      .problems = &b->problems,
                      .notes = b->was_checked ? NULL : &b->notes };
    fields_fill(&r, keys, made, true, to);
    if (!b->was_checked) {
        note_unused_keys(b, keys);
        log_notes(b);
    }
    b->was_checked = true;
}

void builder_know(Builder *b, const Problems *known)
{
    b->known = known;
}

bool builder_has_holes(const Builder *b, const char *key)
{
    size_t n = strlen(key);
    for (int64_t i = 0; b->known && i < b->known->n; i++) {
        const char *path = b->known->item[i].path;
        if (!strncmp(path, key, n) && (!path[n] || path[n] == '.')) return true;
    }
    return false;
}

/* Returns the number of lines. */
static int64_t warn_of_each(Error *e)
{
    int64_t n = 0;
    for (const char *line = e ? error_text(e) : ""; *line; n++) {
        size_t length = strcspn(line, "\n");
        log_warning("%.*s; not there yet: as long as it is so, the command will stop", (int)length,
                    line);
        line += length + (line[length] == '\n');
    }
    error_free(e);
    return n;
}

/* Takes inputs that are not there out of what is wrong, and tells those that were not told. */
static void set_absent_aside(Builder *b, Problems *all)
{
    Problems fresh = { .arena = b->arena };
    int64_t n = 0;
    b->told.arena = b->arena;
    for (int64_t i = 0; i < all->n; i++) {
        const Problems one = { .item = &all->item[i], .n = 1 };
        int64_t n_told = b->told.n;
        if (one.item->is_absent)
            problems_append(&b->told, &one);
        else
            all->item[n++] = *one.item;
        if (b->told.n > n_told) problems_append(&fresh, &one);
    }
    all->n = n;
    b->n_absent += warn_of_each(problems_error(&fresh));
}

/* What is wrong with the tree, then with its components. */
static Error *all_problems(Builder *b)
{
    if (b->plugins.n) return problems_error(&b->plugins); /* the others would follow from them */
    Problems all = { .arena = b->arena };
    if (b->known) problems_append(&all, b->known);
    problems_append(&all, &b->problems);
    if (b->may_lack) set_absent_aside(b, &all);
    return problems_error(&all);
}

void builder_allow_absent(Builder *b)
{
    b->may_lack = true;
}

Error *builder_judge(Builder *b, Error *e)
{
    if (!e || !b->may_lack || !error_is_absent(e)) return e;
    b->n_absent += warn_of_each(e);
    return NULL;
}

int64_t builder_count_absent(const Builder *b)
{
    return b->n_absent;
}

Error *builder_validate(Builder *b, const Field *keys, void *to)
{
    run(b, keys, true, to);
    return all_problems(b);
}

Error *builder_build(Builder *b, const Field *keys, void *to)
{
    TRY(builder_validate(b, keys, to));
    run(b, keys, false, to);
    return all_problems(b);
}

Error *builder_try(Builder *b, const Field *keys, void *to)
{
    b->is_trial = true;
    Error *e = builder_build(b, keys, to);
    b->is_trial = false;
    return e;
}

Error *builder_validate_all(Builder *b)
{
    start(b, true);
    for (int64_t i = 0; i < b->root->n; i++) build_key(b, i);
    return all_problems(b);
}

Error *builder_get(Builder *b, const char *key, const char *kind, void **out)
{
    const Field one[] = {
        { .name = key, .type = FIELD_COMPONENT, .kind = kind, .doc = "the component asked for" },
        { 0 }
    };
    return builder_build(b, one, out);
}

Arena *builder_arena(Builder *b)
{
    return b->arena;
}
const Rank *builder_rank(const Builder *b)
{
    return b->rank;
}
const Yaml *builder_root(const Builder *b)
{
    return b->root;
}

const Component *builder_self(const Builder *b)
{
    return b->self;
}
int64_t builder_count(const Builder *b)
{
    return b->n;
}
const Problems *builder_problems(const Builder *b)
{
    return &b->problems;
}

void builder_gives(Builder *b, const char *kind)
{
    CHECK(b->self);
    b->self->gives = kind;
}

Error *give_int(Builder *b, int64_t value, void **out)
{
    int64_t *kept = NEW(b->arena, int64_t);
    *kept = value;
    *out = kept;
    return NULL;
}

const Component *builder_at(const Builder *b, int64_t i)
{
    CHECK(i >= 0 && i < b->n);
    return b->built[i];
}

const Component *builder_find(const Builder *b, const void *object)
{
    for (int64_t i = 0; i < b->n; i++)
        if (b->built[i]->object == object) return b->built[i];
    return NULL;
}
