/* pickle.c - finding one's way in a pickle that was read. */
#include "checkpoint/pickle.h"
#include "base/json.h"
#include <inttypes.h>
#include <math.h>

const Pickle *pickle_get(const Pickle *dict, const char *key)
{
    if (dict && dict->kind == PICKLE_OBJECT) dict = dict->state;
    if (!dict || dict->kind != PICKLE_DICT) return NULL;
    for (int64_t i = 0; i < dict->n; i += 2)
        if (dict->item[i]->kind == PICKLE_TEXT && str_is(dict->item[i]->text, key))
            return dict->item[i + 1];
    return NULL;
}

bool pickle_is_object(const Pickle *p, const char *name)
{
    return p && p->kind == PICKLE_OBJECT && str_is(p->of->text, name);
}

/* A list may hold itself, and one list many others many times: what a value adds to a text is
 * bounded. `longest` is the length at which it is too much. */
enum { DEEPEST = 64, LONGEST = 1 << 22 };

static Error *put(const Pickle *p, int depth, size_t longest, Text *out);

/* JSON has no other numbers than finite ones. */
static void put_float(double x, Text *out)
{
    if (isfinite(x))
        text_json_double(out, x);
    else
        text_printf(out, "{\"float\": \"%s\"}", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
}

static Error *put_items(const Pickle *p, int depth, size_t longest, Text *out)
{
    text_puts(out, p->kind == PICKLE_TUPLE ? "{\"tuple\": [" : "[");
    for (int64_t i = 0; i < p->n; i++) {
        if (i) text_puts(out, ", ");
        TRY(put(p->item[i], depth, longest, out));
    }
    text_puts(out, p->kind == PICKLE_TUPLE ? "]}" : "]");
    return NULL;
}

static Error *put_dict(const Pickle *p, int depth, size_t longest, Text *out)
{
    text_putc(out, '{');
    for (int64_t i = 0; i < p->n; i += 2) {
        const Pickle *key = p->item[i];
        if (i) text_puts(out, ", ");
        if (key->kind == PICKLE_TEXT)
            text_json_string(out, key->text);
        else if (key->kind == PICKLE_INT)
            text_printf(out, "\"%" PRId64 "\"", key->integer);
        else
            return error_new("a dict with a key that is neither text nor a whole number");
        text_puts(out, ": ");
        TRY(put(p->item[i + 1], depth, longest, out));
    }
    text_putc(out, '}');
    return NULL;
}

static Error *put(const Pickle *p, int depth, size_t longest, Text *out)
{
    if (depth > DEEPEST || out->len > longest)
        return error_new("values nested too deeply or often");
    switch (p->kind) {
    case PICKLE_NONE:
        text_puts(out, "null");
        return NULL;
    case PICKLE_BOOL:
        text_puts(out, p->boolean ? "true" : "false");
        return NULL;
    case PICKLE_INT:
        text_printf(out, "%" PRId64, p->integer);
        return NULL;
    case PICKLE_FLOAT:
        put_float(p->number, out);
        return NULL;
    case PICKLE_TEXT:
        text_json_string(out, p->text);
        return NULL;
    case PICKLE_TUPLE:
    case PICKLE_LIST:
        return put_items(p, depth + 1, longest, out);
    case PICKLE_DICT:
        return put_dict(p, depth + 1, longest, out);
    case PICKLE_GLOBAL:
    case PICKLE_OBJECT:
    case PICKLE_STORAGE:
        break;
    }
    return error_new("an object where a plain value is expected");
}

Error *pickle_json(const Pickle *p, Text *out)
{
    return put(p, 0, out->len + LONGEST, out);
}
