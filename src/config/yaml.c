/* yaml.c - reads YAML text into a tree with libyaml's parser. */
#include "config/yaml.h"
#include "base/file.h"
#include "base/map.h"
#include "config/yaml_scalar.h"
#include <string.h>
#include <yaml.h>

/* Deeper or larger than any sensible configuration; bounds what hostile files can cost. */
enum { MAX_DEPTH = 256, MAX_NODES = 1000000 };

typedef struct Reader {
    Arena *arena;
    const char *name;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    Map *anchors;
    int64_t n_nodes;
} Reader;

#define TAG "tag:yaml.org,2002:"

static Error *fail_at(const Reader *r, yaml_mark_t at, const char *what)
{
    return error_new("%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1, what);
}

static Error *syntax_error(const Reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not readable";
    if (p->error == YAML_READER_ERROR)
        return error_new("%s: byte %zu: %s", r->name, p->problem_offset, problem);
    Error *e = fail_at(r, p->problem_mark, problem);
    return p->context ? error_join(e, fail_at(r, p->context_mark, p->context)) : e;
}

static Error *next(Reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) return syntax_error(r);
    return NULL;
}

/* Copies made by aliases count, too: a few lines could ask for any number of nodes. */
static Error *count_nodes(Reader *r, const Yaml *copied)
{
    if (++r->n_nodes > MAX_NODES)
        return error_new("%s: the document has more than %d nodes", r->name, MAX_NODES);
    for (int64_t i = 0; i < copied->n; i++) TRY(count_nodes(r, copied->item[i]));
    return NULL;
}

static Error *new_node(Reader *r, YamlType type, Yaml **out)
{
    Yaml *y = NEW(r->arena, Yaml);
    TRY(count_nodes(r, y));
    y->type = type;
    y->file = r->name;
    y->line = (int)r->event.start_mark.line + 1;
    y->column = (int)r->event.start_mark.column + 1;
    *out = y;
    return NULL;
}

static Error *read_node(Reader *r, int depth, Yaml **out);

/* An explicit tag asks for one type; text that does not have it is refused. */
static Error *apply_tag(const Reader *r, const char *tag, Yaml *y)
{
    static const struct {
        const char *tag;
        YamlType type;
    } known[] = { { TAG "int", YAML_INT },
                  { TAG "float", YAML_FLOAT },
                  { TAG "bool", YAML_BOOL },
                  { TAG "null", YAML_NULL } };
    if (!strcmp(tag, TAG "str")) {
        y->type = YAML_STRING;
        y->is_quoted = true;
        return NULL;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(tag, known[i].tag)) continue;
        yaml_resolve_scalar(r->arena, y);
        if (known[i].type == YAML_FLOAT && y->type == YAML_INT) y->type = YAML_FLOAT;
        if (y->type == known[i].type) return NULL;
        return fail_at(r, r->event.start_mark,
                       "the text does not have the type that its tag asks for");
    }
    return error_new("%s:%d:%d: the tag \"%s\" is not known", r->name, y->line, y->column, tag);
}

static void remember_anchor(Reader *r, const char *anchor, Yaml *y)
{
    if (anchor) map_set(r->anchors, str_of(anchor), y);
}

/* A copy in the arena: libyaml's own goes with its event. */
static const char *anchor_name(Reader *r, const yaml_char_t *anchor)
{
    return anchor ? arena_string(r->arena, (const char *)anchor) : NULL;
}

static void put(Reader *r, Yaml *map, Yaml *key, Yaml *value)
{
    yaml_set(r->arena, map, key->text, value);
    map->key[value->index] = key;
}

static Error *read_scalar(Reader *r, Yaml **out)
{
    Yaml *y;
    TRY(new_node(r, YAML_STRING, &y));
    const char *value = (const char *)r->event.data.scalar.value;
    const char *tag = (const char *)r->event.data.scalar.tag;
    y->text_len = r->event.data.scalar.length;
    y->text = arena_string_n(r->arena, value, y->text_len);
    y->is_quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (tag && strcmp(tag, "!"))
        TRY(apply_tag(r, tag, y));
    else if (!y->is_quoted)
        yaml_resolve_scalar(r->arena, y);
    remember_anchor(r, (const char *)r->event.data.scalar.anchor, y);
    *out = y;
    return NULL;
}

/* Files that the Python program wrote hold paths as a tagged list of pieces: they become text
 * again. */
static bool is_path_tag(const char *tag)
{
    return tag && !strncmp(tag, TAG "python/object/apply:pathlib.",
                           strlen(TAG "python/object/apply:pathlib."));
}

static Error *join_path(const Reader *r, Yaml *y)
{
    Text path = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; i < y->n && !e; i++) {
        if (y->item[i]->type == YAML_LIST || y->item[i]->type == YAML_MAP) {
            e = error_new("%s:%d:%d: a path consists of texts", r->name, y->line, y->column);
            break;
        }
        const char *piece = y->item[i]->text;
        if (*piece == '/')
            text_clear(&path);
        else if (path.len && path.ptr[path.len - 1] != '/')
            text_putc(&path, '/');
        text_puts(&path, piece);
    }
    y->type = YAML_STRING;
    y->is_quoted = true;
    y->text = arena_string_n(r->arena, path.ptr ? path.ptr : "", path.len);
    y->text_len = path.len;
    yaml_empty(y);
    text_free(&path);
    return e;
}

static Error *read_list(Reader *r, int depth, Yaml **out)
{
    Yaml *y;
    TRY(new_node(r, YAML_LIST, &y));
    const char *tag = (const char *)r->event.data.sequence_start.tag;
    bool is_path = is_path_tag(tag);
    if (tag && !is_path && strcmp(tag, TAG "seq") && strcmp(tag, "!"))
        return error_new("%s:%d:%d: the tag \"%s\" is not known", r->name, y->line, y->column, tag);
    const char *anchor = anchor_name(r, r->event.data.sequence_start.anchor);
    for (;;) {
        TRY(next(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT) break;
        Yaml *item;
        TRY(read_node(r, depth + 1, &item));
        yaml_append(r->arena, y, item);
    }
    if (is_path) TRY(join_path(r, y));
    remember_anchor(r, anchor, y);
    *out = y;
    return NULL;
}

static bool is_merge_key(const Yaml *key)
{
    return !key->is_quoted && !strcmp(key->text, "<<");
}

/* Sets every entry of a merged map; PyYAML lets a later one replace an earlier one in place. */
static Error *merge_entries(Reader *r, Yaml *into, const Yaml *from)
{
    if (from->type != YAML_MAP)
        return error_new("%s:%d:%d: \"<<\" takes a mapping or a list of mappings", r->name,
                         from->line, from->column);
    TRY(count_nodes(r, from));
    for (int64_t i = 0; i < from->n; i++)
        put(r, into, yaml_copy(r->arena, from->key[i], NULL),
            yaml_copy(r->arena, from->item[i], NULL));
    return NULL;
}

/* "<<: *a" or "<<: [*a, *b]", where earlier maps of the list win. */
static Error *merge(Reader *r, Yaml *into, const Yaml *value)
{
    if (value->type != YAML_LIST) return merge_entries(r, into, value);
    for (int64_t i = value->n - 1; i >= 0; i--) TRY(merge_entries(r, into, value->item[i]));
    return NULL;
}

static Error *read_key(Reader *r, const Yaml *map, Yaml **out)
{
    if (r->event.type != YAML_SCALAR_EVENT && r->event.type != YAML_ALIAS_EVENT)
        return fail_at(r, r->event.start_mark, "a key must be a scalar");
    yaml_mark_t at = r->event.start_mark;
    TRY(read_node(r, MAX_DEPTH, out));
    if ((*out)->type == YAML_LIST || (*out)->type == YAML_MAP || (*out)->type == YAML_NULL)
        return fail_at(r, at, "a key must be a text, a number or a truth value");
    if (strlen((*out)->text) != (*out)->text_len)
        return fail_at(r, at, "a key holds a NUL character");
    const Yaml *first = yaml_get(map, (*out)->text);
    if (first && !is_merge_key(*out))
        return error_new("%s:%zu:%zu: the key \"%s\" is here twice; it was set in line %d before",
                         r->name, at.line + 1, at.column + 1, (*out)->text,
                         map->key[first->index]->line);
    return NULL;
}

static Error *read_map(Reader *r, int depth, Yaml **out)
{
    Yaml *y;
    TRY(new_node(r, YAML_MAP, &y));
    const char *tag = (const char *)r->event.data.mapping_start.tag;
    if (tag && strcmp(tag, TAG "map") && strcmp(tag, "!"))
        return error_new("%s:%d:%d: the tag \"%s\" is not known", r->name, y->line, y->column, tag);
    const char *anchor = anchor_name(r, r->event.data.mapping_start.anchor);
    Yaml *merged = NULL;
    for (;;) {
        TRY(next(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) break;
        Yaml *key, *value;
        TRY(read_key(r, y, &key));
        TRY(next(r));
        TRY(read_node(r, depth + 1, &value));
        if (!is_merge_key(key)) {
            put(r, y, key, value);
        } else {
            if (!merged) TRY(new_node(r, YAML_MAP, &merged));
            TRY(merge(r, merged, value));
        }
    }
    if (merged) { /* merged keys come first, as PyYAML orders them */
        for (int64_t i = 0; i < y->n; i++) put(r, merged, y->key[i], y->item[i]);
        y->n = merged->n;
        y->key = merged->key;
        y->item = merged->item;
        y->table = merged->table;
        for (int64_t i = 0; i < y->n; i++) y->item[i]->parent = y;
    }
    remember_anchor(r, anchor, y);
    *out = y;
    return NULL;
}

static Error *read_alias(Reader *r, Yaml **out)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    const Yaml *target = map_get(r->anchors, str_of(name));
    if (!target)
        return error_new("%s:%zu:%zu: the alias \"*%s\" has no anchor before it", r->name,
                         r->event.start_mark.line + 1, r->event.start_mark.column + 1, name);
    TRY(count_nodes(r, target));
    *out = yaml_copy(r->arena, target, NULL);
    return NULL;
}

static Error *read_node(Reader *r, int depth, Yaml **out)
{
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, out);
    case YAML_ALIAS_EVENT:
        return read_alias(r, out);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (depth >= MAX_DEPTH)
            return fail_at(r, r->event.start_mark, "nested deeper than 256 levels");
        return r->event.type == YAML_MAPPING_START_EVENT ? read_map(r, depth, out)
                                                         : read_list(r, depth, out);
    default:
        return fail_at(r, r->event.start_mark, "a value is missing here");
    }
}

static Error *expect(Reader *r, yaml_event_type_t type, const char *what)
{
    TRY(next(r));
    return r->event.type == type ? NULL : fail_at(r, r->event.start_mark, what);
}

static Error *read_document(Reader *r, Yaml **out)
{
    TRY(expect(r, YAML_STREAM_START_EVENT, "no YAML stream"));
    TRY(next(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return error_new("%s: the file is empty", r->name);
    TRY(next(r));
    TRY(read_node(r, 0, out));
    TRY(expect(r, YAML_DOCUMENT_END_EVENT, "the document should end here"));
    return expect(r, YAML_STREAM_END_EVENT, "a second document begins here; one is allowed");
}

Error *yaml_parse(Arena *a, Str text, const char *name, Yaml **out)
{
    Reader r = { .arena = a, .name = arena_string(a, name), .anchors = map_new(a) };
    CHECK(yaml_parser_initialize(&r.parser));
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.ptr, text.len);
    Error *e = read_document(&r, out);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return e;
}

Error *yaml_read(Arena *a, const char *path, Yaml **out)
{
    Str text;
    TRY(file_read(a, path, &text));
    return yaml_parse(a, text, path, out);
}
