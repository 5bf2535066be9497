/* field_rows.c - reads tests/config/fields/, and walks through tables of settings. */
#include "config/field_rows.h"
#include "test.h"
#include <string.h>

/* ---- the files ---- */

typedef struct Parser {
    Arena *arena;
    const char *path;
    int line;
    StringList common;
    FieldBlocks blocks;
} Parser;

static const char *trimmed(Arena *a, const char *from, const char *to)
{
    while (from < to && *from == ' ') from++;
    while (to > from && to[-1] == ' ') to--;
    return arena_string_n(a, from, (size_t)(to - from));
}

static void append(Arena *a, StringList *list, const char *text)
{
    const char **longer = NEW_N(a, const char *, list->n + 1);
    for (int64_t i = 0; i < list->n; i++) longer[i] = list->item[i];
    longer[list->n++] = text;
    list->item = longer;
}

/* "[table at path by program]" */
static void begin_block(Parser *p, const char *line)
{
    const char *at = strstr(line, " at "), *by = strstr(line, " by "),
               *end = line + strcspn(line, "]");
    if (!at || !*end) fail_msg("%s:%d: the form is [table at path]", p->path, p->line);
    FieldBlocks *all = &p->blocks;
    FieldBlock *longer = NEW_N(p->arena, FieldBlock, all->n + 1);
    for (int64_t i = 0; i < all->n; i++) longer[i] = all->item[i];
    const char *where = trimmed(p->arena, at + 4, by ? by : end);
    longer[all->n++] = (FieldBlock){ .file = p->path,
                                     .line = p->line,
                                     .table = trimmed(p->arena, line + 1, at),
                                     .at = strcmp(where, "top") ? where : "",
                                     .program = by ? trimmed(p->arena, by + 4, end) : "run",
                                     .set = p->common };
    all->item = longer;
}

/* "name = value ! refusal" */
static void add_row(Parser *p, FieldBlock *b, const char *line)
{
    const char *equals = strstr(line, " = "), *end = line + strlen(line);
    if (!equals) fail_msg("%s:%d: the form is name = value", p->path, p->line);
    const char *refusal = strstr(equals, " ! ");
    FieldRow *longer = NEW_N(p->arena, FieldRow, b->n_rows + 1);
    for (int64_t i = 0; i < b->n_rows; i++) longer[i] = b->row[i];
    longer[b->n_rows++] =
        (FieldRow){ .name = trimmed(p->arena, line, equals),
                    .value = trimmed(p->arena, equals + 3, refusal ? refusal : end),
                    .refusal = refusal ? trimmed(p->arena, refusal + 3, end) : NULL,
                    .line = p->line };
    b->row = longer;
}

static void read_line(Parser *p, const char *line)
{
    FieldBlock *b = p->blocks.n ? &p->blocks.item[p->blocks.n - 1] : NULL;
    if (!*line || *line == '#') return;
    if (*line == '[')
        begin_block(p, line);
    else if (*line == ':')
        append(p->arena, b ? &b->set : &p->common,
               trimmed(p->arena, line + 1, line + strlen(line)));
    else if (b)
        add_row(p, b, line);
    else
        fail_msg("%s:%d: no block has begun", p->path, p->line);
}

FieldBlocks field_blocks_read(Arena *a, const char *path)
{
    Parser p = { .arena = a, .path = path };
    Str text;
    assert_no_error(file_read(a, path, &text));
    for (const char *at = text.ptr; *at;) {
        size_t n = strcspn(at, "\n");
        p.line++;
        read_line(&p, trimmed(a, at, at + n));
        at += n + (at[n] == '\n');
    }
    return p.blocks;
}

/* "a[].config<layer>.b" is the path a.0.config.b */
const char *field_row_override(Arena *a, const FieldBlock *b, const FieldRow *r)
{
    Text t = { 0 };
    text_printf(&t, "%s%s", b->at, *b->at ? "." : "");
    for (const char *c = r->name; *c; c++) {
        if (*c == '<')
            c = strchr(c, '>');
        else if (*c == '[')
            text_puts(&t, ".0"), c++;
        else
            text_putc(&t, *c);
    }
    text_printf(&t, "=%s", r->value);
    const char *kept = arena_string(a, t.ptr);
    text_free(&t);
    return kept;
}

/* ---- the tables ---- */

typedef struct Walk {
    Arena *arena;
    void (*each)(void *context, const char *name, const Field *f);
    void *context;
} Walk;

static void walk(const Walk *w, const char *name, const Field *f);

static void walk_table(const Walk *w, const char *above, const Field *fields)
{
    for (const Field *f = fields; f && f->type != FIELD_END; f++)
        walk(w, arena_printf(w->arena, "%s%s%s", above, *above ? "." : "", f->name), f);
}

static bool is_mapping(const Field *f)
{
    return f->type == FIELD_STRUCT;
}

/* Alternatives of single values are one setting. */
static bool has_mappings(const Field *alternative)
{
    for (; alternative->type != FIELD_END; alternative++)
        if (is_mapping(alternative)) return true;
    return false;
}

static void walk(const Walk *w, const char *name, const Field *f)
{
    bool is_list = f->type == FIELD_LIST && is_mapping(f->fields),
         is_union = f->type == FIELD_UNION && has_mappings(f->fields),
         is_optional = f->is_pointer || (f->fallback && !strcmp(f->fallback, "null")),
         holds_others = is_mapping(f) || is_list || is_union;
    if (!holds_others || is_optional) w->each(w->context, name, f);
    if (is_mapping(f)) walk_table(w, name, f->fields);
    if (is_list) walk_table(w, arena_printf(w->arena, "%s[]", name), f->fields->fields);
    for (const Field *g = is_union ? f->fields : NULL; g && g->type != FIELD_END; g++)
        walk_table(w, arena_printf(w->arena, "%s<%s>", name, g->name), g->fields);
}

void field_names(Arena *a, const Field *fields,
                 void (*each)(void *context, const char *name, const Field *f), void *context)
{
    const Walk w = { a, each, context };
    walk_table(&w, "", fields);
}
