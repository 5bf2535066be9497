/* value_parts.c - what values are made of: items to go through, attributes, items by place or key,
 * slices. */
#include "base/utf8.h"
#include "template/characters.h"
#include "template/function.h"

static Error *characters_of(Run *r, Str s, TemplateValue *out)
{
    TemplateValue *item;
    TRY(new_list(r, TEMPLATE_LIST, characters_count(s), &item, out));
    int len;
    for (size_t at = 0; at < s.len; at += (size_t)len) {
        utf8_decode(s.ptr + at, &len);
        *item++ = value_text((Str){ s.ptr + at, (size_t)len });
    }
    return NULL;
}

static Error *use_generator(TemplateValue v, TemplateValue *out)
{
    ValueList *l = (ValueList *)v.list;
    if (l->is_used)
        return error_new("a generator can be gone through once: | list makes a list of it");
    l->is_used = true;
    *out = v;
    return NULL;
}

Error *list_of(Run *r, TemplateValue v, TemplateValue *out)
{
    TemplateValue *item;
    switch (v.kind) {
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        *out = v;
        return NULL;
    case TEMPLATE_GENERATOR:
        return use_generator(v, out);
    case TEMPLATE_TEXT:
        return characters_of(r, v.text, out);
    case TEMPLATE_UNDEFINED:
        return new_list(r, TEMPLATE_LIST, 0, &item, out);
    case TEMPLATE_MAP:
        TRY(new_list(r, TEMPLATE_LIST, v.map->n, &item, out));
        for (int64_t i = 0; i < v.map->n; i++) item[i] = value_text(v.map->entry[i].key);
        return NULL;
    default:
        return error_new("%s has no items to go through", value_kind_name(v));
    }
}

Error *map_items(Run *r, TemplateValue map, TemplateValue *out)
{
    TemplateValue *item;
    TRY(new_list(r, TEMPLATE_LIST, map.map->n, &item, out));
    for (int64_t i = 0; i < map.map->n; i++) {
        TemplateValue *pair;
        TRY(new_list(r, TEMPLATE_TUPLE, 2, &pair, &item[i]));
        pair[0] = value_text(map.map->entry[i].key);
        pair[1] = *(const TemplateValue *)map.map->entry[i].value;
    }
    return NULL;
}

static TemplateValue loop_neighbour(const Loop *l, int64_t at)
{
    bool is_inside = at >= 0 && at < l->items->n;
    return is_inside ? l->items->item[at] : value_undefined(str_of("there is no such item"));
}

static TemplateValue loop_attribute(const Loop *l, Str name)
{
    const int64_t n = l->items->n, i = l->index0;
    const struct {
        const char *name;
        TemplateValue value;
    } row[] = { { "index", value_int(i + 1) },
                { "index0", value_int(i) },
                { "revindex", value_int(n - i) },
                { "revindex0", value_int(n - i - 1) },
                { "first", value_bool(i == 0) },
                { "last", value_bool(i == n - 1) },
                { "length", value_int(n) },
                { "depth", value_int(1) },
                { "depth0", value_int(0) },
                { "previtem", loop_neighbour(l, i - 1) },
                { "nextitem", loop_neighbour(l, i + 1) } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        if (str_is(name, row[k].name)) return row[k].value;
    return value_undefined(name);
}

static Error *entry_of(TemplateValue map, Str key, TemplateValue *out)
{
    const TemplateValue *found = value_map_get(map, key);
    *out = found ? *found : value_undefined(key);
    return NULL;
}

Error *value_attribute(TemplateValue v, Str name, TemplateValue *out)
{
    if (v.kind == TEMPLATE_UNDEFINED)
        return error_new("'%.*s' is undefined, so it has no '%.*s'", (int)v.text.len, v.text.ptr,
                         (int)name.len, name.ptr);
    FunctionKind methods = methods_of(v.kind);
    if (methods < N_FUNCTION_KINDS && function_find(methods, name))
        return error_new("'%.*s' is a method of %s: call it, or write ['%.*s'] for an entry",
                         (int)name.len, name.ptr, value_kind_name(v), (int)name.len, name.ptr);
    if (v.kind == TEMPLATE_MAP || v.kind == TEMPLATE_NAMESPACE) return entry_of(v, name, out);
    *out = v.kind == TEMPLATE_LOOP ? loop_attribute(v.loop, name) : value_undefined(name);
    return NULL;
}

/* From the end when negative; -1 when outside. */
static int64_t place_in(int64_t i, int64_t n)
{
    if (i < 0) i += n;
    return i >= 0 && i < n ? i : -1;
}

static TemplateValue character_at(Str s, int64_t i)
{
    size_t from = characters_offset(s, i), to = characters_offset(s, i + 1);
    return value_text((Str){ s.ptr + from, to - from });
}

Error *value_item(Run *r, TemplateValue v, TemplateValue key, TemplateValue *out)
{
    *out = value_undefined(key.kind == TEMPLATE_TEXT ? key.text : str_of("this item"));
    bool is_index = key.kind == TEMPLATE_INT || key.kind == TEMPLATE_BOOL;
    int64_t i = !is_index ? 0 : key.kind == TEMPLATE_BOOL ? key.boolean : key.integer;
    switch (v.kind) {
    case TEMPLATE_UNDEFINED:
        return value_attribute(v, out->text, out);
    case TEMPLATE_MAP:
    case TEMPLATE_NAMESPACE:
        return key.kind == TEMPLATE_TEXT ? entry_of(v, key.text, out) : NULL;
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        i = is_index ? place_in(i, v.list->n) : -1;
        if (i >= 0) *out = v.list->item[i];
        return NULL;
    case TEMPLATE_TEXT:
        TRY(meter_spend(&r->meter, (int64_t)v.text.len));
        i = is_index ? place_in(i, characters_count(v.text)) : -1;
        if (i >= 0) *out = character_at(v.text, i);
        return NULL;
    default:
        return key.kind == TEMPLATE_TEXT ? value_attribute(v, key.text, out) : NULL;
    }
}

/* ---- slices ---- */

/* A bound of a slice inside [low, high]. */
static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
    if (i < 0) i += n;
    return i < low ? low : i > high ? high : i;
}

static Error *slice_list(Run *r, TemplateValue v, int64_t from, int64_t to, int64_t step,
                         TemplateValue *out)
{
    int64_t span = step > 0 ? to - from : from - to, size = step > 0 ? step : -step;
    int64_t n = span > 0 ? (span - 1) / size + 1 : 0;
    TemplateValue *item;
    TRY(new_list(r, v.kind, n, &item, out));
    for (int64_t i = 0; i < n; i++) item[i] = v.list->item[from + i * step];
    return NULL;
}

static Error *join_characters(Run *r, TemplateValue list, TemplateValue *out)
{
    Text t = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < list.list->n; i++)
        e = meter_add(&r->meter, &t, list.list->item[i].text);
    return finish_text(r, &t, e, out);
}

Error *value_slice(Run *r, TemplateValue v, const Slice *s, TemplateValue *out)
{
    TemplateValue characters = v;
    if (v.kind != TEMPLATE_TEXT && v.kind != TEMPLATE_LIST && v.kind != TEMPLATE_TUPLE)
        return error_new("%s cannot be cut into slices", value_kind_name(v));
    if (!s->step) return error_new("the step of a slice is 0");
    bool is_text = v.kind == TEMPLATE_TEXT;
    if (is_text) TRY(characters_of(r, v.text, &characters));
    bool goes_up = s->step > 0;
    int64_t size = characters.list->n, low = goes_up ? 0 : -1, high = goes_up ? size : size - 1;
    int64_t from = s->has_from ? clamp(s->from, size, low, high) : goes_up ? low : high;
    int64_t to = s->has_to ? clamp(s->to, size, low, high) : goes_up ? high : low;
    TRY(slice_list(r, characters, from, to, s->step, out));
    return is_text ? join_characters(r, *out, out) : NULL;
}
