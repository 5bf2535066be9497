/* interpolate.c - replaces every ${...} of a tree by its value.
 *
 * A node is looked at when something needs it, and remembered, so order in the file does not
 * matter. A value that is reached through an interpolation is copied to the place of use; what is
 * inside it is resolved where it was written, so relative keys mean there what they mean at home.
 */
#include "config/interpolate.h"
#include "base/map.h"
#include "config/expression.h"
#include "config/problem.h"
#include "config/resolver.h"
#include "config/yaml_path.h"
#include <string.h>

enum { MAX_NODES = 1000000, MAX_BYTES = 64 << 20, MAX_DEPTH = 1000 };

typedef enum State { UNSEEN, IN_PROGRESS, DONE, FAILED } State;

typedef struct Entry {
    const Yaml *node;
    State state;
    Yaml *value;
} Entry;

typedef struct Resolving {
    Arena *arena;
    const Yaml *root;
    const ResolverContext *context;
    Problems *problems;
    const char *missed; /* the key path that the last expression that failed needs, or NULL */
    Entry *table;       /* by address, open addressing */
    size_t n_slots, n_used;
    const Yaml *chain[MAX_DEPTH]; /* nodes in progress, for the message of a cycle */
    int n_chain;
    int64_t n_nodes;
    size_t n_bytes; /* of texts, counted at every place of use */
} Resolving;

static Entry *slot_of(Entry *table, size_t n_slots, const Yaml *node)
{
    size_t i = hash_bytes(&node, sizeof node) & (n_slots - 1);
    while (table[i].node && table[i].node != node) i = (i + 1) & (n_slots - 1);
    return &table[i];
}

/* Valid until the next call. */
static Entry *entry_of(Resolving *r, const Yaml *node)
{
    if (2 * r->n_used >= r->n_slots) {
        size_t n = r->n_slots ? 2 * r->n_slots : 256;
        Entry *bigger = NEW_N(r->arena, Entry, n);
        for (size_t i = 0; i < r->n_slots; i++)
            if (r->table[i].node) *slot_of(bigger, n, r->table[i].node) = r->table[i];
        r->table = bigger;
        r->n_slots = n;
    }
    Entry *e = slot_of(r->table, r->n_slots, node);
    if (!e->node) {
        e->node = node;
        r->n_used++;
    }
    return e;
}

/* Inside expressions an error without text stands for a node whose own problem is recorded already.
 */
static Error *failed_before(void)
{
    return error_new("%s", "");
}

static bool deref(Resolving *r, const Yaml *node, Yaml **out);

typedef struct Site {
    Resolving *resolving;
    const Yaml *node; /* the scalar that holds the expression */
    const ExpressionHost *host;
} Site;

/* The node where a key starts: the root, or for leading dots the mapping that holds the expression
 * (one dot) and those around it. */
static Error *starting_node(const Site *s, const char **key, const Yaml **out)
{
    const Yaml *at = **key == '.' ? s->node : s->resolving->root;
    const char *all = *key;
    for (; **key == '.'; (*key)++) {
        at = at->parent;
        if (!at) return error_new("\"%s\" leads above the root", all);
    }
    *out = at;
    return NULL;
}

/* Whoever takes a value takes all that is in it. */
static void mark_below(Yaml *y)
{
    if (y->is_taken) return;
    y->is_taken = true;
    for (int64_t i = 0; i < y->n; i++) {
        if (y->type == YAML_MAP) y->key[i]->is_referred = true;
        mark_below(y->item[i]);
    }
}

/* What a key does not lead to: a sentence, and the path that would be it. */
typedef struct Missing {
    const char *text, *path;
} Missing;

/* Follows a key; *out is NULL and *missing says why when there is nothing. */
static Error *follow(const Site *s, const char *key, Yaml **out, Missing *missing)
{
    Resolving *r = s->resolving;
    const char *rest = key, *name;
    const Yaml *at = NULL;
    *out = NULL;
    TRY(starting_node(s, &rest, &at));
    for (;;) {
        Yaml *here;
        if (!deref(r, at, &here)) return failed_before();
        CHECK(here != NULL);
        StepResult step = yaml_next_step(r->arena, &rest, &name);
        if (step == STEP_MALFORMED) return error_new("\"%s\" is no key path", key);
        if (step == STEP_END) {
            mark_below(here);
            *out = here;
            return NULL;
        }
        at = yaml_child(here, name);
        if (!at) {
            const char *where = yaml_path(r->arena, here);
            missing->text =
                arena_printf(r->arena, "there is no key \"%s\"%s%s%s", name, *where ? " in " : "",
                             where, problem_hint(r->arena, here, name));
            missing->path = arena_printf(r->arena, "%s%s%s", where, *where ? "." : "", name);
            return NULL;
        }
        if (here->type == YAML_MAP) here->key[at->index]->is_referred = true;
    }
}

static Error *find_key(void *self, const char *key, Yaml **out)
{
    Missing missing;
    return follow(self, key, out, &missing);
}

static Error *select_key(void *self, const char *key, Yaml **out)
{
    Missing missing = { 0 };
    TRY(follow(self, key, out, &missing));
    if (!*out) {
        ((Site *)self)->resolving->missed = missing.path;
        return error_new("%s", missing.text);
    }
    if ((*out)->type == YAML_STRING && !strcmp((*out)->text, "???"))
        return error_new("\"%s\" is \"???\", a value that must be set first", key);
    return NULL;
}

static Error *call_resolver(void *self, const char *name, int64_t n, Yaml *const *arg, Yaml **out)
{
    const Site *s = self;
    const ResolverCall c = { .host = s->host,
                             .context = s->resolving->context,
                             .node = s->node,
                             .find = find_key,
                             .name = name,
                             .n = n,
                             .arg = arg };
    return resolver_call(&c, out);
}

static Yaml *build(Resolving *r, const Yaml *node, Yaml *parent, int depth);

static Error *complete(void *self, const Yaml *value, Yaml **out)
{
    const Site *s = self;
    int64_t before = s->resolving->problems->n;
    *out = build(s->resolving, value, NULL, 0);
    return s->resolving->problems->n > before ? failed_before() : NULL;
}

static Error *evaluate(Resolving *r, const Yaml *node, Yaml **out)
{
    CHECK(node != NULL);
    Site s = { .resolving = r, .node = node };
    const ExpressionHost h = { .self = &s,
                               .arena = r->arena,
                               .select = select_key,
                               .complete = complete,
                               .call = call_resolver };
    s.host = &h;
    return expression_text(&h, node->text, out);
}

static void report_cycle(Resolving *r, const Yaml *node)
{
    Text text = { 0 };
    int first = r->n_chain - 1;
    while (first > 0 && r->chain[first] != node) first--;
    for (int i = first; i < r->n_chain; i++)
        text_printf(&text, "%s -> ", yaml_path(r->arena, r->chain[i]));
    problem_add(r->problems, node, NULL, "cycle", "the value depends on itself: %s%s",
                text.ptr ? text.ptr : "", yaml_path(r->arena, node));
    text_free(&text);
}

/* The node that holds this node's value: itself unless it is an interpolation. False when that
 * failed; the problem is recorded once, at the node that has it. */
static bool deref(Resolving *r, const Yaml *node, Yaml **out)
{
    *out = (Yaml *)node;
    if (!has_interpolation(node)) return true;
    Entry *e = entry_of(r, node);
    *out = e->value;
    if (e->state == DONE || e->state == FAILED) return e->state == DONE;
    if (e->state == IN_PROGRESS || r->n_chain == MAX_DEPTH) {
        report_cycle(r, node);
        e->state = FAILED;
        return false;
    }
    e->state = IN_PROGRESS;
    r->chain[r->n_chain++] = node;
    Yaml *value = NULL;
    r->missed = NULL;
    Error *error = evaluate(r, node, &value);
    r->n_chain--;
    if (error && *error_text(error))
        problem_add(r->problems, node, NULL, "interpolation", "%s (in %s)", error_text(error),
                    yaml_show(r->arena, node))
            ->subject = r->missed;
    r->missed = NULL;
    e = entry_of(r, node);
    if (e->state != FAILED) e->state = error ? FAILED : DONE;
    e->value = *out = value;
    error_free(error);
    return e->state == DONE;
}

static bool is_open(const Resolving *r, const Yaml *node)
{
    for (int i = 0; i < r->n_chain; i++)
        if (r->chain[i] == node) return true;
    return false;
}

/* A list or mapping with everything in it resolved. */
static void build_children(Resolving *r, const Yaml *from, Yaml *to, int depth)
{
    r->chain[r->n_chain++] = from;
    for (int64_t i = 0; i < from->n; i++) {
        yaml_append(r->arena, to, build(r, from->item[i], to, depth + 1));
        to->key[i] = from->key ? from->key[i] : NULL;
    }
    r->n_chain--;
}

static Yaml *build(Resolving *r, const Yaml *node, Yaml *parent, int depth)
{
    Yaml *value, *made = NEW(r->arena, Yaml);
    *made = (Yaml){ .type = YAML_NULL, .text = "", .is_hole = true };
    if (deref(r, node, &value))
        *made = *value;
    else
        value = made;
    made->parent = parent;
    made->file = node->file;
    made->line = node->line;
    made->column = node->column;
    if (value != node && value->file) made->from = value;
    yaml_empty(made);
    if (value == made) return made;
    if (value->type != YAML_LIST && value->type != YAML_MAP) {
        bool was_small = r->n_bytes <= MAX_BYTES;
        r->n_bytes += value->text_len;
        if (r->n_bytes <= MAX_BYTES) return made;
        const Yaml *place = node->file || !r->n_chain ? node : r->chain[r->n_chain - 1];
        if (was_small)
            problem_add(r->problems, place, NULL, "size",
                        "more than %d MiB of text after interpolation", MAX_BYTES >> 20);
        *made = (Yaml){ .type = YAML_NULL, .text = "", .parent = parent };
        return made;
    }
    if (is_open(r, value)) {
        report_cycle(r, value);
    } else if (depth >= MAX_DEPTH / 2 || r->n_chain >= MAX_DEPTH - 1) {
        problem_add(r->problems, node, NULL, "depth", "nested too deeply after interpolation");
    } else if ((r->n_nodes += value->n) > MAX_NODES) {
        if (r->n_nodes - value->n <= MAX_NODES)
            problem_add(r->problems, node, NULL, "size", "more than %d nodes after interpolation",
                        MAX_NODES);
    } else {
        build_children(r, value, made, depth);
    }
    return made;
}

Yaml *interpolate_with_holes(Arena *a, const Yaml *root, const ResolverContext *c,
                             Problems *problems)
{
    Resolving *r = NEW(a, Resolving);
    r->arena = a;
    r->root = root;
    r->context = c;
    r->problems = problems;
    return build(r, root, NULL, 0);
}

Error *interpolate(Arena *a, const Yaml *root, const ResolverContext *c, Yaml **out)
{
    Problems problems = { .arena = a };
    *out = interpolate_with_holes(a, root, c, &problems);
    return problems_error(&problems);
}
