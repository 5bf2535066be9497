/* write_values.c - writes values as JSON has them. */
#include "models/hf/write_values.h"
#include "base/json.h"
#include <string.h>

void hf_put_key(Text *t, const char *name)
{
    text_printf(t, "%s\n  \"%s\": ", t->len > 1 ? "," : "", name);
}

void hf_put_text(Text *t, const char *name, const char *value)
{
    hf_put_key(t, name);
    text_json_string(t, str_of(value));
}

void hf_put_int(Text *t, const char *name, int64_t value)
{
    hf_put_key(t, name);
    text_printf(t, "%lld", (long long)value);
}

void hf_put_double(Text *t, const char *name, double value)
{
    hf_put_key(t, name);
    text_json_double(t, value);
}

void hf_put_bool(Text *t, const char *name, bool value)
{
    hf_put_key(t, name);
    text_puts(t, value ? "true" : "false");
}

void hf_put_doubles(Text *t, const char *name, const FloatList *list)
{
    hf_put_key(t, name);
    for (int64_t i = 0; i < list->n; i++) {
        text_puts(t, i ? ", " : "[");
        text_json_double(t, list->item[i]);
    }
    text_putc(t, ']');
}

void hf_put_null(Text *t, const char *name)
{
    hf_put_key(t, name);
    text_puts(t, "null");
}

void hf_put_optional(Text *t, const char *name, double value)
{
    if (value > 0)
        hf_put_double(t, name, value);
    else
        hf_put_null(t, name);
}

void hf_put_optional_int(Text *t, const char *name, int64_t value)
{
    if (value > 0)
        hf_put_int(t, name, value);
    else
        hf_put_null(t, name);
}

void hf_rename_key(Text *t, const char *from, const char *to)
{
    Text key = { 0 }, rest = { 0 };
    text_printf(&key, "\n  \"%s\": ", from);
    const char *at = strstr(t->ptr, key.ptr);
    if (at) {
        const size_t before = (size_t)(at - t->ptr);
        text_puts(&rest, at + key.len);
        t->len = before;
        text_printf(t, "\n  \"%s\": %s", to, rest.ptr);
    }
    text_free(&key);
    text_free(&rest);
}

void hf_put_of_layers(Text *t, const char *name, const Decoder *d,
                      void (*put)(Text *item, const DecoderLayer *l, int64_t i))
{
    Text item = { 0 };
    const char *between = "";
    hf_put_key(t, name);
    text_putc(t, '[');
    for (int64_t i = 0; i < d->n_layer; i++) {
        text_clear(&item);
        put(&item, &d->layer[i], i);
        if (!item.len) continue;
        text_printf(t, "%s%s", between, item.ptr);
        between = ", ";
    }
    text_putc(t, ']');
    text_free(&item);
}
