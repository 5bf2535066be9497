/* globals.c - functions that every template can call. */
#include "base/clock.h"
#include "template/function.h"

/* As the sandbox of the original: longer ranges are refused. */
enum { MOST_RANGE = 100000 };

static Error *range(Run *r, const Call *c, TemplateValue *out)
{
    int64_t first, second, step;
    TRY(argument_int(c, 0, 0, &first));
    TRY(argument_int(c, 1, 0, &second));
    TRY(argument_int(c, 2, 1, &step));
    int64_t from = c->is_given[1] ? first : 0, to = c->is_given[1] ? second : first;
    if (!step) return error_new("range() with step 0");
    __int128 span = step > 0 ? (__int128)to - from : (__int128)from - to;
    __int128 size = step > 0 ? step : -(__int128)step, n = span <= 0 ? 0 : (span + size - 1) / size;
    if (n > MOST_RANGE) return error_new("range() of more than %d numbers", MOST_RANGE);
    TemplateValue *item;
    TRY(new_list(r, TEMPLATE_LIST, (int64_t)n, &item, out));
    for (int64_t i = 0; i < n; i++) item[i] = value_int((int64_t)(from + (__int128)i * step));
    return NULL;
}

static Error *copy_entries(Run *r, const Map *from, TemplateValue to)
{
    TRY(meter_spend(&r->meter, 64 * from->n));
    for (int64_t i = 0; i < from->n; i++)
        value_map_set(to, from->entry[i].key, *(const TemplateValue *)from->entry[i].value);
    return NULL;
}

static Error *make_map(Run *r, const Call *c, TemplateValue *out)
{
    *out = value_map(r->arena);
    TRY(meter_spend(&r->meter, 256 + 64 * c->n));
    for (int64_t i = 0; i < c->n; i++) {
        if (c->name[i])
            value_map_set(*out, str_of(c->name[i]), c->value[i]);
        else if (i || c->value[i].kind != TEMPLATE_MAP)
            return error_new("arguments are one mapping at most, then name=value");
        else
            TRY(copy_entries(r, c->value[i].map, *out));
    }
    return NULL;
}

static Error *namespace(Run *r, const Call *c, TemplateValue *out)
{
    TRY(make_map(r, c, out));
    out->kind = TEMPLATE_NAMESPACE;
    return NULL;
}

static Error *raise_exception(Run *r, const Call *c, TemplateValue *out)
{
    (void)out;
    Text t = { 0 };
    Error *e = value_print(&r->meter, c->arg[0], &t);
    if (!e) e = error_new("the template refuses this: %s", t.len ? t.ptr : "");
    text_free(&t);
    return e;
}

static Error *strftime_now(Run *r, const Call *c, TemplateValue *out)
{
    Str format;
    char now[256];
    TRY(argument_text(c, 0, str_of(""), &format));
    clock_format(arena_string_n(r->arena, format.ptr, format.len), now, sizeof now);
    *out = value_text(str_of(arena_string(r->arena, now)));
    return NULL;
}

const Function global_functions[] = {
    { .name = "dict", .call = make_map, .is_variadic = true },
    { .name = "namespace", .call = namespace, .is_variadic = true },
    { .name = "raise_exception",
      .call = raise_exception,
      .parameters = { "message" },
      .n_required = 1 },
    { .name = "range", .call = range, .parameters = { "start", "stop", "step" }, .n_required = 1 },
    { .name = "strftime_now", .call = strftime_now, .parameters = { "format" }, .n_required = 1 },
    { 0 },
};
