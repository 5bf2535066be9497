/* change_text.c - replacing, stripping, joining texts and changing their case. */
#include "template/change_text.h"

/* Where `from` occurs next; an empty one occurs before each character and at the end. */
static int64_t next_place(Str s, Str from, size_t at, bool is_first)
{
    if (from.len || is_first) return str_find(s, from, at);
    if (at >= s.len) return -1;
    Str rest = { s.ptr + at, s.len - at };
    return (int64_t)(at + characters_offset(rest, 1));
}

Error *replace_text(Run *r, Str s, Str from, Str to, int64_t most, TemplateValue *out)
{
    Text t = { 0 };
    size_t copied = 0, searched = 0;
    Error *e = meter_spend(&r->meter, (int64_t)s.len);
    for (int64_t n = 0; !e && (most < 0 || n < most); n++) {
        int64_t at = next_place(s, from, searched, n == 0);
        if (at < 0) break;
        e = meter_add(&r->meter, &t, (Str){ s.ptr + copied, (size_t)at - copied });
        if (!e) e = meter_add(&r->meter, &t, to);
        copied = searched = (size_t)at + from.len;
    }
    if (!e) e = meter_add(&r->meter, &t, (Str){ s.ptr + copied, s.len - copied });
    return finish_text(r, &t, e, out);
}

Error *change_case(Run *r, Str s, LetterCase to, TemplateValue *out)
{
    Text t = { 0 };
    Error *e = meter_spend(&r->meter, 2 * (int64_t)s.len);
    if (!e) e = characters_to_case(s, to, &t);
    return finish_text(r, &t, e, out);
}

Error *capitalize_text(Run *r, Str s, TemplateValue *out)
{
    size_t first = characters_offset(s, 1);
    Text t = { 0 };
    Error *e = meter_spend(&r->meter, 2 * (int64_t)s.len);
    if (!e) e = characters_to_case((Str){ s.ptr, first }, CASE_TITLE, &t);
    if (!e) e = characters_to_case((Str){ s.ptr + first, s.len - first }, CASE_LOWER, &t);
    return finish_text(r, &t, e, out);
}

Error *strip_text(Run *r, const Call *c, int sides, TemplateValue *out)
{
    Str s, set = { "", 0 };
    TRY(self_text(c, &s));
    bool has_set = c->is_given[0] && c->arg[0].kind != TEMPLATE_NONE;
    if (has_set) TRY(argument_text(c, 0, set, &set));
    TRY(meter_spend(&r->meter, (int64_t)s.len));
    *out = value_text(characters_strip(s, has_set ? &set : NULL, sides));
    return NULL;
}

Error *join_items(Run *r, const ValueList *l, Str between, TemplateValue *out)
{
    Text t = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < l->n; i++) {
        if (i) e = meter_add(&r->meter, &t, between);
        if (!e) e = value_print(&r->meter, l->item[i], &t);
    }
    return finish_text(r, &t, e, out);
}
