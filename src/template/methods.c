/* methods.c - methods of texts, mappings, lists and the variable `loop`. */
#include "template/change_text.h"
#include <string.h>

/* ---- texts ---- */

static Error *upper(Run *r, const Call *c, TemplateValue *out)
{
    return change_case(r, c->self.text, CASE_UPPER, out);
}

static Error *lower(Run *r, const Call *c, TemplateValue *out)
{
    return change_case(r, c->self.text, CASE_LOWER, out);
}

static Error *capitalize(Run *r, const Call *c, TemplateValue *out)
{
    return capitalize_text(r, c->self.text, out);
}

/* Each run of letters begins with an upper case one; letters are those of ASCII here. */
static Error *title(Run *r, const Call *c, TemplateValue *out)
{
    Text t = { 0 };
    Str s = c->self.text;
    Error *e = meter_spend(&r->meter, (int64_t)s.len);
    bool follows_letter = false;
    for (size_t i = 0; !e && i < s.len; i++) {
        char x = s.ptr[i], small = x | 32;
        bool is_letter = small >= 'a' && small <= 'z';
        if (x & 0x80) e = error_new("title() of letters beyond ASCII is not supported");
        text_putc(&t, !is_letter ? x : follows_letter ? small : (char)(small - 32));
        follows_letter = is_letter;
    }
    return finish_text(r, &t, e, out);
}

static Error *strip(Run *r, const Call *c, TemplateValue *out)
{
    return strip_text(r, c, STRIP_LEFT | STRIP_RIGHT, out);
}

static Error *lstrip(Run *r, const Call *c, TemplateValue *out)
{
    return strip_text(r, c, STRIP_LEFT, out);
}

static Error *rstrip(Run *r, const Call *c, TemplateValue *out)
{
    return strip_text(r, c, STRIP_RIGHT, out);
}

static Error *replace(Run *r, const Call *c, TemplateValue *out)
{
    Str from, to;
    int64_t most;
    TRY(argument_text(c, 0, str_of(""), &from));
    TRY(argument_text(c, 1, str_of(""), &to));
    TRY(argument_int(c, 2, -1, &most));
    return replace_text(r, c->self.text, from, to, most, out);
}

static bool has_at(Str s, Str part, bool at_end)
{
    if (part.len > s.len) return false;
    return !memcmp(at_end ? s.ptr + s.len - part.len : s.ptr, part.ptr, part.len);
}

/* The argument is a text or a tuple of texts. */
static Error *has_affix(const Call *c, bool at_end, TemplateValue *out)
{
    const TemplateValue one = c->arg[0], *part = &one;
    int64_t n = 1;
    if (one.kind == TEMPLATE_TUPLE) {
        part = one.list->item;
        n = one.list->n;
    }
    bool found = false;
    for (int64_t i = 0; i < n; i++) {
        if (part[i].kind != TEMPLATE_TEXT)
            return error_new("an argument is %s where text is needed", value_kind_name(part[i]));
        found |= has_at(c->self.text, part[i].text, at_end);
    }
    *out = value_bool(found);
    return NULL;
}

static Error *startswith(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return has_affix(c, false, out);
}

static Error *endswith(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return has_affix(c, true, out);
}

static Error *remove_affix(const Call *c, bool at_end, TemplateValue *out)
{
    Str s = c->self.text, part;
    TRY(argument_text(c, 0, str_of(""), &part));
    if (has_at(s, part, at_end)) s = (Str){ at_end ? s.ptr : s.ptr + part.len, s.len - part.len };
    *out = value_text(s);
    return NULL;
}

static Error *removeprefix(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return remove_affix(c, false, out);
}

static Error *removesuffix(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return remove_affix(c, true, out);
}

/* Texts in the making, with doubling room. */
typedef struct Pieces {
    TemplateValue *item;
    int64_t n, cap;
} Pieces;

static Error *add_piece(Run *r, Pieces *p, Str s)
{
    TRY(meter_spend(&r->meter, 2 * sizeof(TemplateValue)));
    p->item = arena_grow(r->arena, p->item, p->n, &p->cap, sizeof *p->item);
    p->item[p->n++] = value_text(s);
    return NULL;
}

static Error *finish_pieces(Run *r, const Pieces *p, TemplateValue *out)
{
    TemplateValue *item;
    TRY(new_list(r, TEMPLATE_LIST, p->n, &item, out));
    if (p->n) memcpy(item, p->item, sizeof *item * (size_t)p->n);
    return NULL;
}

/* At runs of white space; none at the ends. */
static Error *split_words(Run *r, Str s, int64_t most, Pieces *p)
{
    s = characters_strip(s, NULL, STRIP_LEFT);
    while (s.len) {
        if (most >= 0 && p->n == most)
            return add_piece(r, p, characters_strip(s, NULL, STRIP_RIGHT));
        size_t end = 0;
        int64_t i = 0;
        Str rest;
        do { /* the word ends where stripping takes something away */
            end += characters_offset((Str){ s.ptr + end, s.len - end }, 1);
            rest = (Str){ s.ptr + end, s.len - end };
            i++;
        } while (rest.len && characters_strip(rest, NULL, STRIP_LEFT).len == rest.len);
        TRY(meter_spend(&r->meter, i));
        TRY(add_piece(r, p, (Str){ s.ptr, end }));
        s = characters_strip(rest, NULL, STRIP_LEFT);
    }
    return NULL;
}

static Error *split_at(Run *r, Str s, Str separator, int64_t most, Pieces *p)
{
    size_t from = 0;
    int64_t at;
    if (!separator.len) return error_new("split at an empty text");
    while ((most < 0 || p->n < most) && (at = str_find(s, separator, from)) >= 0) {
        TRY(add_piece(r, p, (Str){ s.ptr + from, (size_t)at - from }));
        from = (size_t)at + separator.len;
    }
    return add_piece(r, p, (Str){ s.ptr + from, s.len - from });
}

static Error *split(Run *r, const Call *c, TemplateValue *out)
{
    Pieces p = { 0 };
    Str separator = { "", 0 };
    int64_t most;
    bool at_spaces = !c->is_given[0] || c->arg[0].kind == TEMPLATE_NONE;
    TRY(argument_int(c, 1, -1, &most));
    TRY(meter_spend(&r->meter, (int64_t)c->self.text.len));
    if (!at_spaces) TRY(argument_text(c, 0, separator, &separator));
    TRY(at_spaces ? split_words(r, c->self.text, most, &p)
                  : split_at(r, c->self.text, separator, most, &p));
    return finish_pieces(r, &p, out);
}

static Error *splitlines(Run *r, const Call *c, TemplateValue *out)
{
    Pieces p = { 0 };
    Str rest = c->self.text;
    TRY(meter_spend(&r->meter, (int64_t)rest.len));
    while (rest.len) {
        bool has_end;
        TRY(add_piece(r, &p, characters_line(rest, &rest, &has_end)));
    }
    return finish_pieces(r, &p, out);
}

static Error *join(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue list;
    TRY(list_of(r, c->arg[0], &list));
    for (int64_t i = 0; i < list.list->n; i++)
        if (list.list->item[i].kind != TEMPLATE_TEXT)
            return error_new("join() of %s: all items must be text",
                             value_kind_name(list.list->item[i]));
    return join_items(r, list.list, c->self.text, out);
}

static Error *find(Run *r, const Call *c, TemplateValue *out)
{
    Str s = c->self.text, part;
    TRY(argument_text(c, 0, str_of(""), &part));
    TRY(meter_spend(&r->meter, (int64_t)s.len));
    int64_t at = str_find(s, part, 0);
    *out = value_int(at < 0 ? -1 : characters_count((Str){ s.ptr, (size_t)at }));
    return NULL;
}

static Error *count_parts(Run *r, const Call *c, TemplateValue *out)
{
    Str s = c->self.text, part;
    TRY(argument_text(c, 0, str_of(""), &part));
    TRY(meter_spend(&r->meter, (int64_t)s.len));
    int64_t n = part.len ? 0 : characters_count(s) + 1, at = 0;
    while (part.len && (at = str_find(s, part, (size_t)at)) >= 0) {
        at += (int64_t)part.len;
        n++;
    }
    *out = value_int(n);
    return NULL;
}

/* Digits of ASCII; others are refused rather than judged. */
static Error *isdigit_(Run *r, const Call *c, TemplateValue *out)
{
    Str s = c->self.text;
    bool all = s.len > 0;
    TRY(meter_spend(&r->meter, (int64_t)s.len));
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] & 0x80) return error_new("isdigit() of text beyond ASCII is not supported");
        all &= s.ptr[i] >= '0' && s.ptr[i] <= '9';
    }
    *out = value_bool(all);
    return NULL;
}

const Function text_methods[] = {
    { .name = "capitalize", .call = capitalize },
    { .name = "count", .call = count_parts, .parameters = { "part" }, .n_required = 1 },
    { .name = "endswith", .call = endswith, .parameters = { "suffix" }, .n_required = 1 },
    { .name = "find", .call = find, .parameters = { "part" }, .n_required = 1 },
    { .name = "isdigit", .call = isdigit_ },
    { .name = "join", .call = join, .parameters = { "items" }, .n_required = 1 },
    { .name = "lower", .call = lower },
    { .name = "lstrip", .call = lstrip, .parameters = { "chars" } },
    { .name = "removeprefix", .call = removeprefix, .parameters = { "prefix" }, .n_required = 1 },
    { .name = "removesuffix", .call = removesuffix, .parameters = { "suffix" }, .n_required = 1 },
    { .name = "replace",
      .call = replace,
      .parameters = { "old", "new", "count" },
      .n_required = 2 },
    { .name = "rstrip", .call = rstrip, .parameters = { "chars" } },
    { .name = "split", .call = split, .parameters = { "sep", "maxsplit" } },
    { .name = "splitlines", .call = splitlines },
    { .name = "startswith", .call = startswith, .parameters = { "prefix" }, .n_required = 1 },
    { .name = "strip", .call = strip, .parameters = { "chars" } },
    { .name = "title", .call = title },
    { .name = "upper", .call = upper },
    { 0 },
};

/* ---- mappings ---- */

static Error *get(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    const TemplateValue *found = NULL;
    if (c->arg[0].kind == TEMPLATE_TEXT) found = value_map_get(c->self, c->arg[0].text);
    *out = found ? *found : c->is_given[1] ? c->arg[1] : value_none();
    return NULL;
}

static Error *keys(Run *r, const Call *c, TemplateValue *out)
{
    return list_of(r, c->self, out);
}

static Error *values(Run *r, const Call *c, TemplateValue *out)
{
    TemplateValue *item;
    TRY(new_list(r, TEMPLATE_LIST, c->self.map->n, &item, out));
    for (int64_t i = 0; i < c->self.map->n; i++)
        item[i] = *(TemplateValue *)c->self.map->entry[i].value;
    return NULL;
}

static Error *items(Run *r, const Call *c, TemplateValue *out)
{
    return map_items(r, c->self, out);
}

const Function map_methods[] = {
    { .name = "get", .call = get, .parameters = { "key", "default" }, .n_required = 1 },
    { .name = "items", .call = items },
    { .name = "keys", .call = keys },
    { .name = "values", .call = values },
    { 0 },
};

/* ---- lists ---- */

static Error *count_items(Run *r, const Call *c, TemplateValue *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->self.list->n; i++) {
        bool is_equal;
        TRY(value_equal(&r->meter, c->self.list->item[i], c->arg[0], &is_equal));
        n += is_equal;
    }
    *out = value_int(n);
    return NULL;
}

static Error *index_of(Run *r, const Call *c, TemplateValue *out)
{
    for (int64_t i = 0; i < c->self.list->n; i++) {
        bool is_equal;
        TRY(value_equal(&r->meter, c->self.list->item[i], c->arg[0], &is_equal));
        *out = value_int(i);
        if (is_equal) return NULL;
    }
    return error_new("index() of an item that the list does not have");
}

const Function list_methods[] = {
    { .name = "count", .call = count_items, .parameters = { "item" }, .n_required = 1 },
    { .name = "index", .call = index_of, .parameters = { "item" }, .n_required = 1 },
    { 0 },
};

/* ---- loop ---- */

static Error *cycle(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    if (!c->n) return error_new("cycle() of nothing");
    *out = c->value[c->self.loop->index0 % c->n];
    return NULL;
}

const Function loop_methods[] = {
    { .name = "cycle", .call = cycle, .is_variadic = true },
    { 0 },
};
