/* list_filters.c - filters of lists and mappings. */
#include "template/change_text.h"
#include <stdlib.h>
#include <string.h>

/* v.a.b or v.a.0 for "a.b", "a.0"; an integer is an index. */
static Error *attribute_of(Run *r, TemplateValue v, TemplateValue path, TemplateValue *out)
{
    *out = v;
    if (path.kind != TEMPLATE_TEXT) return value_item(r, v, path, out);
    Str rest = path.text;
    for (bool more = true; more;) {
        const char *dot = memchr(rest.ptr, '.', rest.len);
        Str part = { rest.ptr, dot ? (size_t)(dot - rest.ptr) : rest.len };
        bool is_index = part.len > 0 && part.len < 10;
        for (size_t i = 0; i < part.len; i++) is_index &= part.ptr[i] >= '0' && part.ptr[i] <= '9';
        TemplateValue key = value_text(part);
        if (is_index)
            key = value_int(strtoll(arena_string_n(r->arena, part.ptr, part.len), NULL, 10));
        TRY(value_item(r, *out, key, out));
        more = dot != NULL;
        rest = (Str){ rest.ptr + part.len + more, rest.len - part.len - more };
    }
    return NULL;
}

/* ---- ends, length, order ---- */

static Error *length(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue v = c->self;
    TRY(meter_spend(&r->meter, v.kind == TEMPLATE_TEXT ? (int64_t)v.text.len : 0));
    switch (v.kind) {
    case TEMPLATE_UNDEFINED:
        *out = value_int(0);
        return NULL;
    case TEMPLATE_TEXT:
        *out = value_int(characters_count(v.text));
        return NULL;
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        *out = value_int(v.list->n);
        return NULL;
    case TEMPLATE_MAP:
        *out = value_int(v.map->n);
        return NULL;
    default:
        return error_new("%s has no length", value_kind_name(v));
    }
}

static Error *end_item(Run *r, const Call *c, bool is_last, TemplateValue *out)
{
    TemplateValue list;
    TRY(list_of(r, c->self, &list));
    *out = value_undefined(str_of("an item of an empty list"));
    int64_t n = list.list->n;
    if (n) *out = list.list->item[is_last ? n - 1 : 0];
    return NULL;
}

static Error *first(Run *r, const Call *c, TemplateValue *out)
{
    return end_item(r, c, false, out);
}

static Error *last(Run *r, const Call *c, TemplateValue *out)
{
    if (c->self.kind == TEMPLATE_GENERATOR)
        return error_new("last of %s", value_kind_name(c->self));
    return end_item(r, c, true, out);
}

static Error *reverse(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue list, *item;
    if (c->self.kind == TEMPLATE_GENERATOR)
        return error_new("reverse of %s", value_kind_name(c->self));
    TRY(list_of(r, c->self, &list));
    int64_t n = list.list->n;
    TRY(new_list(r, TEMPLATE_GENERATOR, n, &item, out));
    for (int64_t i = 0; i < n; i++) item[i] = list.list->item[n - 1 - i];
    return c->self.kind == TEMPLATE_TEXT ? join_items(r, out->list, str_of(""), out) : NULL;
}

static Error *list(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue items, *item;
    TRY(list_of(r, c->self, &items));
    TRY(new_list(r, TEMPLATE_LIST, items.list->n, &item, out));
    for (int64_t i = 0; i < items.list->n; i++) item[i] = items.list->item[i];
    return NULL;
}

static Error *items(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue *none;
    if (c->self.kind == TEMPLATE_UNDEFINED) return new_list(r, TEMPLATE_GENERATOR, 0, &none, out);
    if (c->self.kind == TEMPLATE_MAP) {
        TRY(map_items(r, c->self, out));
        out->kind = TEMPLATE_GENERATOR;
        return NULL;
    }
    return error_new("items of %s: only a mapping has such", value_kind_name(c->self));
}

static Error *join(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue list, *item, parts;
    Str between;
    TRY(list_of(r, c->self, &list));
    TRY(argument_text(c, 0, str_of(""), &between));
    if (!c->is_given[1]) return join_items(r, list.list, between, out);
    TRY(new_list(r, TEMPLATE_LIST, list.list->n, &item, &parts));
    for (int64_t i = 0; i < list.list->n; i++)
        TRY(attribute_of(r, list.list->item[i], c->arg[1], &item[i]));
    return join_items(r, parts.list, between, out);
}

/* ---- sorting ---- */

typedef struct Keyed {
    TemplateValue key, item;
} Keyed;

/* What items are sorted by: themselves or an attribute, letters of either case alike unless told
 * otherwise. */
static Error *make_key(Run *r, TemplateValue v, const TemplateValue *attribute, bool case_sensitive,
                       TemplateValue *out)
{
    *out = v;
    if (attribute) TRY(attribute_of(r, v, *attribute, out));
    if (out->kind == TEMPLATE_TEXT && !case_sensitive)
        return change_case(r, out->text, CASE_LOWER, out);
    return NULL;
}

/* Merge sort: equal items stay in their order, whichever way it goes. */
static Error *sort_keyed(Run *r, Keyed *k, Keyed *spare, int64_t n, bool falls)
{
    if (n < 2) return NULL;
    int64_t half = n / 2, i = 0, j = half;
    TRY(sort_keyed(r, k, spare, half, falls));
    TRY(sort_keyed(r, k + half, spare, n - half, falls));
    for (int64_t to = 0; to < n; to++) {
        int order = i < half ? -1 : 1;
        if (i < half && j < n) TRY(value_order(&r->meter, k[i].key, k[j].key, &order));
        if (i < half && j < n && falls) order = -order;
        spare[to] = order <= 0 ? k[i++] : k[j++];
    }
    memcpy(k, spare, sizeof *k * (size_t)n);
    return NULL;
}

static Error *sort_list(Run *r, TemplateValue list, const TemplateValue *attribute,
                        bool case_sensitive, bool falls, TemplateValue *out)
{
    int64_t n = list.list->n;
    TemplateValue *item;
    TRY(new_list(r, TEMPLATE_LIST, n, &item, out));
    TRY(meter_spend(&r->meter, n * (int64_t)(2 * sizeof(Keyed))));
    if (!n) return NULL;
    Keyed *keyed = NEW_N(r->arena, Keyed, 2 * n);
    for (int64_t i = 0; i < n; i++) {
        keyed[i].item = list.list->item[i];
        TRY(make_key(r, keyed[i].item, attribute, case_sensitive, &keyed[i].key));
    }
    TRY(sort_keyed(r, keyed, keyed + n, n, falls));
    for (int64_t i = 0; i < n; i++) item[i] = keyed[i].item;
    return NULL;
}

static Error *sort(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue list;
    TRY(list_of(r, c->self, &list));
    bool has_attribute = c->is_given[2] && c->arg[2].kind != TEMPLATE_NONE;
    return sort_list(r, list, has_attribute ? &c->arg[2] : NULL, argument_is_true(c, 1, false),
                     argument_is_true(c, 0, false), out);
}

static Error *dictsort(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue pairs, place;
    Str by;
    TRY(argument_text(c, 1, str_of("key"), &by));
    if (c->self.kind != TEMPLATE_MAP)
        return error_new("dictsort of %s: only a mapping can be sorted so",
                         value_kind_name(c->self));
    if (!str_is(by, "key") && !str_is(by, "value"))
        return error_new("dictsort: by is 'key' or 'value'");
    TRY(map_items(r, c->self, &pairs));
    place = value_int(str_is(by, "value"));
    return sort_list(r, pairs, &place, argument_is_true(c, 0, false), argument_is_true(c, 2, false),
                     out);
}

static Error *unique(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue list, *item, *key, keys;
    int64_t n = 0;
    TRY(list_of(r, c->self, &list));
    TRY(new_list(r, TEMPLATE_GENERATOR, list.list->n, &item, out));
    TRY(new_list(r, TEMPLATE_LIST, list.list->n, &key, &keys));
    for (int64_t i = 0; i < list.list->n; i++) {
        bool is_known = false;
        TRY(make_key(r, list.list->item[i], c->is_given[1] ? &c->arg[1] : NULL,
                     argument_is_true(c, 0, false), &key[n]));
        for (int64_t k = 0; k < n && !is_known; k++)
            TRY(value_equal(&r->meter, key[k], key[n], &is_known));
        if (!is_known) item[n++] = list.list->item[i];
    }
    ((ValueList *)out->list)->n = n;
    return NULL;
}

/* ---- map, select ---- */

/* The arguments of `c` from `skip` on, for a function that it names. */
static Call rest_of(const Call *c, int64_t skip, TemplateValue self)
{
    return (
        Call){ .self = self, .value = c->value + skip, .name = c->name + skip, .n = c->n - skip };
}

static Error *named_function(const Call *c, int64_t i, FunctionKind kind, const Function **out)
{
    if (c->value[i].kind != TEMPLATE_TEXT)
        return error_new("the name of a %s is %s", kind == FUNCTION_TEST ? "test" : "filter",
                         value_kind_name(c->value[i]));
    *out = function_find(kind, c->value[i].text);
    return *out ? NULL : function_unknown(kind, c->value[i].text);
}

/* map(attribute="a", default=x) */
static Error *map_attribute(Run *r, const Call *c, TemplateValue item, TemplateValue *out)
{
    const TemplateValue *path = NULL, *fallback = NULL;
    for (int64_t i = 0; i < c->n; i++) {
        if (c->name[i] && !strcmp(c->name[i], "attribute"))
            path = &c->value[i];
        else if (c->name[i] && !strcmp(c->name[i], "default"))
            fallback = &c->value[i];
        else
            return error_new("map: arguments are the name of a filter and its arguments, or "
                             "attribute= and default=");
    }
    if (!path) return error_new("map: the name of a filter or attribute= is missing");
    TRY(attribute_of(r, item, *path, out));
    if (out->kind == TEMPLATE_UNDEFINED && fallback) *out = *fallback;
    return NULL;
}

static Error *map(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue list, *item;
    const Function *f = NULL;
    if (c->n && !c->name[0]) TRY(named_function(c, 0, FUNCTION_FILTER, &f));
    TRY(list_of(r, c->self, &list));
    TRY(new_list(r, TEMPLATE_GENERATOR, list.list->n, &item, out));
    for (int64_t i = 0; i < list.list->n; i++) {
        TRY(meter_enter(&r->meter)); /* map("map", ...) */
        Call one = f ? rest_of(c, 1, list.list->item[i]) : (Call){ 0 };
        TRY(f ? function_call(r, f, &one, &item[i])
              : map_attribute(r, c, list.list->item[i], &item[i]));
        meter_leave(&r->meter);
    }
    return NULL;
}

/* Keeps the items, or those with an attribute, that pass a test (or are true, without one). */
static Error *choose(Run *r, const Call *c, bool by_attribute, bool keeps, TemplateValue *out)
{
    TemplateValue list, *item;
    int64_t n = 0, at_test = by_attribute;
    const Function *test = NULL;
    if (by_attribute && !c->n) return error_new("the attribute is missing");
    if (c->n > at_test) TRY(named_function(c, at_test, FUNCTION_TEST, &test));
    TRY(list_of(r, c->self, &list));
    TRY(new_list(r, TEMPLATE_GENERATOR, list.list->n, &item, out));
    for (int64_t i = 0; i < list.list->n; i++) {
        TemplateValue v = list.list->item[i], passes;
        if (by_attribute) TRY(attribute_of(r, v, c->value[0], &v));
        Call one = rest_of(c, test ? at_test + 1 : 0, v);
        passes = v;
        TRY(meter_spend(&r->meter, 16));
        if (test) TRY(function_call(r, test, &one, &passes));
        if (value_is_true(passes) == keeps) item[n++] = list.list->item[i];
    }
    ((ValueList *)out->list)->n = n;
    return NULL;
}

static Error *select_(Run *r, const Call *c, TemplateValue *out)
{
    return choose(r, c, false, true, out);
}

static Error *reject(Run *r, const Call *c, TemplateValue *out)
{
    return choose(r, c, false, false, out);
}

static Error *selectattr(Run *r, const Call *c, TemplateValue *out)
{
    return choose(r, c, true, true, out);
}

static Error *rejectattr(Run *r, const Call *c, TemplateValue *out)
{
    return choose(r, c, true, false, out);
}

const Function list_filter_functions[] = {
    { .name = "count", .call = length },
    { .name = "dictsort", .call = dictsort, .parameters = { "case_sensitive", "by", "reverse" } },
    { .name = "first", .call = first },
    { .name = "items", .call = items },
    { .name = "join", .call = join, .parameters = { "d", "attribute" } },
    { .name = "last", .call = last },
    { .name = "length", .call = length },
    { .name = "list", .call = list },
    { .name = "map", .call = map, .is_variadic = true },
    { .name = "reject", .call = reject, .is_variadic = true },
    { .name = "rejectattr", .call = rejectattr, .is_variadic = true },
    { .name = "reverse", .call = reverse },
    { .name = "select", .call = select_, .is_variadic = true },
    { .name = "selectattr", .call = selectattr, .is_variadic = true },
    { .name = "sort", .call = sort, .parameters = { "reverse", "case_sensitive", "attribute" } },
    { .name = "unique", .call = unique, .parameters = { "case_sensitive", "attribute" } },
    { 0 },
};
