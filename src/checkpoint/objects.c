/* objects.c - values of a checkpoint that are no tensors, and their JSON. */
#include "checkpoint/objects.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Pickle *pickle_of_kind(Arena *a, PickleKind kind)
{
    Pickle *p = NEW(a, Pickle);
    p->kind = kind;
    return p;
}

Pickle *pickle_of_int(Arena *a, int64_t x)
{
    Pickle *p = pickle_of_kind(a, PICKLE_INT);
    p->integer = x;
    return p;
}

Pickle *pickle_of_float(Arena *a, double x)
{
    Pickle *p = pickle_of_kind(a, PICKLE_FLOAT);
    p->number = x;
    return p;
}

Pickle *pickle_of_bool(Arena *a, bool x)
{
    Pickle *p = pickle_of_kind(a, PICKLE_BOOL);
    p->boolean = x;
    return p;
}

Pickle *pickle_of_text(Arena *a, const char *s)
{
    Pickle *p = pickle_of_kind(a, PICKLE_TEXT);
    p->text = str_of(arena_string(a, s));
    return p;
}

void pickle_append(Arena *a, Pickle *to, const Pickle *item)
{
    to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof(Pickle *));
    to->item[to->n++] = (Pickle *)item;
}

const char *object_name(Arena *a, const Pickle *path)
{
    Text t = { 0 };
    for (int64_t i = 0; i < path->n; i++) {
        const Pickle *p = path->item[i];
        if (i) text_putc(&t, '.');
        if (p->kind == PICKLE_INT)
            text_printf(&t, "%" PRId64, p->integer);
        else
            text_add(&t, p->text.ptr, p->text.len);
    }
    char *name = arena_string_n(a, t.ptr ? t.ptr : "", t.len);
    text_free(&t);
    return name;
}

void objects_print(const CheckpointObject *object, int64_t n, Text *out)
{
    text_putc(out, '[');
    for (int64_t i = 0; i < n; i++) {
        const Pickle *path = object[i].path;
        text_puts(out, i ? ",\n{\"path\": [" : "\n{\"path\": [");
        for (int64_t k = 0; k < path->n; k++) {
            if (k) text_puts(out, ", ");
            CHECK(pickle_json(path->item[k], out) == NULL);
        }
        text_puts(out, "], \"value\": ");
        CHECK(pickle_json(object[i].value, out) == NULL);
        text_putc(out, '}');
    }
    text_putc(out, ']');
}

static Error *value_of(Arena *a, const json_t *json, Pickle **out);

static Error *items_of(Arena *a, const json_t *list, PickleKind kind, Pickle **out)
{
    *out = pickle_of_kind(a, kind);
    for (size_t i = 0; i < json_array_size(list); i++) {
        Pickle *item;
        TRY(value_of(a, json_array_get(list, i), &item));
        pickle_append(a, *out, item);
    }
    return NULL;
}

static Error *dict_of(Arena *a, json_t *json, Pickle **out)
{
    const json_t *tuple = json_object_get(json, "tuple");
    const char *number = json_string_value(json_object_get(json, "float")), *key;
    if (json_object_size(json) == 1 && json_is_array(tuple))
        return items_of(a, tuple, PICKLE_TUPLE, out);
    if (json_object_size(json) == 1 && number) {
        *out = pickle_of_float(a, strtod(number, NULL));
        return NULL;
    }
    json_t *item;
    *out = pickle_of_kind(a, PICKLE_DICT);
    json_object_foreach(json, key, item)
    {
        Pickle *value;
        TRY(value_of(a, item, &value));
        pickle_append(a, *out, pickle_of_text(a, key));
        pickle_append(a, *out, value);
    }
    return NULL;
}

/* jansson bounds the depth. */
static Error *value_of(Arena *a, const json_t *json, Pickle **out)
{
    switch (json_typeof(json)) {
    case JSON_NULL:
        *out = pickle_of_kind(a, PICKLE_NONE);
        return NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = pickle_of_bool(a, json_is_true(json));
        return NULL;
    case JSON_INTEGER:
        *out = pickle_of_int(a, json_integer_value(json));
        return NULL;
    case JSON_REAL:
        *out = pickle_of_float(a, json_real_value(json));
        return NULL;
    case JSON_STRING:
        *out = pickle_of_text(a, json_string_value(json));
        return NULL;
    case JSON_ARRAY:
        return items_of(a, json, PICKLE_LIST, out);
    case JSON_OBJECT:
        break;
    }
    return dict_of(a, (json_t *)json, out);
}

static Error *path_of(Arena *a, const json_t *list, Pickle **out)
{
    if (!json_is_array(list)) return error_new("\"path\" is missing or no list");
    TRY(items_of(a, list, PICKLE_TUPLE, out));
    for (int64_t i = 0; i < (*out)->n; i++)
        if ((*out)->item[i]->kind != PICKLE_TEXT && (*out)->item[i]->kind != PICKLE_INT)
            return error_new("\"path\" item %" PRId64 " is neither text nor number", i);
    return NULL;
}

static Error *read_object(Arena *a, const json_t *json, CheckpointObject *o)
{
    const json_t *value = json_object_get(json, "value");
    Pickle *path, *content;
    TRY(path_of(a, json_object_get(json, "path"), &path));
    if (!value) return error_new("\"value\" is missing");
    TRY(value_of(a, value, &content));
    *o = (CheckpointObject){ .name = object_name(a, path), .path = path, .value = content };
    return NULL;
}

Error *objects_read(Arena *a, const json_t *list, CheckpointObject **out, int64_t *n)
{
    if (!json_is_array(list)) return error_new("\"objects\" is no list");
    *n = (int64_t)json_array_size(list);
    *out = NEW_N(a, CheckpointObject, *n);
    for (int64_t i = 0; i < *n; i++)
        TRY(error_wrap(read_object(a, json_array_get(list, (size_t)i), &(*out)[i]),
                       "object %" PRId64, i));
    return NULL;
}

Error *object_value_read(Arena *a, const char *json, const Pickle **out)
{
    json_error_t why;
    Pickle *value = NULL;
    json_t *root = json_loads(json, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
    if (!root) return error_new("no JSON: %s", why.text);
    Error *e = value_of(a, root, &value);
    json_decref(root);
    *out = value;
    return e;
}

static bool is_leaf(const Pickle *p)
{
    bool is_plain = true;
    for (int64_t i = 0; i < p->n && is_plain; i++) is_plain = p->item[i]->kind < PICKLE_TUPLE;
    return p->kind != PICKLE_DICT && (p->kind != PICKLE_LIST || is_plain);
}

void objects_flatten(Arena *a, const Pickle *path, const Pickle *value, ObjectList *to)
{
    if (is_leaf(value)) {
        to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
        to->item[to->n++] =
            (CheckpointObject){ .name = object_name(a, path), .path = path, .value = value };
        return;
    }
    int64_t step = value->kind == PICKLE_DICT ? 2 : 1;
    for (int64_t i = 0; i < value->n; i += step) {
        Pickle *longer = pickle_of_kind(a, PICKLE_TUPLE);
        for (int64_t k = 0; k < path->n; k++) pickle_append(a, longer, path->item[k]);
        pickle_append(a, longer, step == 2 ? value->item[i] : pickle_of_int(a, i));
        objects_flatten(a, longer, value->item[i + step - 1], to);
    }
}
