/* yaml_emit.c - writes YAML byte for byte as PyYAML's yaml.dump does.
 *
 * Folder names of sweeps are hashes of these bytes, so every rule of PyYAML's emitter that a
 * configuration can reach is here or in yaml_analyze.c: which quotes a text needs, where a long one
 * is folded, how lists lie in mappings. */
#include "config/yaml_emit.h"
#include "base/utf8.h"
#include "config/yaml_analyze.h"
#include "config/yaml_scalar.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEST_WIDTH = 80, BEST_INDENT = 2, LONGEST_SIMPLE_KEY = 122 };

typedef struct Emitter {
    Arena *arena;
    Text *out;
    int column, indent;
    bool is_after_space; /* the last character separates */
    bool is_at_indent;   /* only indentation and "-" so far in this line */
    bool keeps_unicode;  /* characters beyond ASCII stand for themselves */
    bool is_unsorted;    /* keys and scalars as PyYAML's safe_load gives them to dump */
} Emitter;

static void write_ascii(Emitter *e, const char *s)
{
    text_puts(e->out, s);
    e->column += (int)strlen(s);
}

/* Never a surrogate: those are escaped. */
static void write_rune(Emitter *e, uint32_t c)
{
    char s[4];
    text_add(e->out, s, (size_t)utf8_encode(c, s));
    e->column++;
}

static void write_runes(Emitter *e, Runes text, int from, int to)
{
    for (int i = from; i < to; i++) write_rune(e, text.at[i]);
}

static void line_break(Emitter *e)
{
    text_putc(e->out, '\n');
    e->column = 0;
    e->is_after_space = true;
    e->is_at_indent = true;
}

static void write_indent(Emitter *e)
{
    int indent = e->indent < 0 ? 0 : e->indent;
    if (!e->is_at_indent || e->column > indent || (e->column == indent && !e->is_after_space))
        line_break(e);
    if (e->column < indent) e->is_after_space = true;
    while (e->column < indent) write_ascii(e, " ");
}

static void write_indicator(Emitter *e, const char *s, bool needs_space, bool keeps_indent)
{
    if (needs_space && !e->is_after_space) write_ascii(e, " ");
    write_ascii(e, s);
    e->is_after_space = false;
    e->is_at_indent = e->is_at_indent && keeps_indent;
}

static void fold(Emitter *e)
{
    write_indent(e);
    e->is_after_space = false;
    e->is_at_indent = false;
}

/* One space in a line that is full already becomes a line break. */
static void write_plain(Emitter *e, Runes t, bool may_fold)
{
    if (!t.n) return;
    if (!e->is_after_space) write_ascii(e, " ");
    e->is_after_space = e->is_at_indent = false;
    for (int i = 0; i < t.n;) {
        int end = i;
        bool is_space = t.at[i] == ' ';
        while (end < t.n && (t.at[end] == ' ') == is_space) end++;
        if (is_space && end == i + 1 && e->column > BEST_WIDTH && may_fold)
            fold(e);
        else
            write_runes(e, t, i, end);
        i = end;
    }
}

static void write_single_quoted(Emitter *e, Runes t, bool may_fold)
{
    write_indicator(e, "'", true, false);
    for (int i = 0; i < t.n;) {
        int end = i;
        if (t.at[i] == ' ') {
            while (end < t.n && t.at[end] == ' ') end++;
            if (end == i + 1 && e->column > BEST_WIDTH && may_fold && i && end < t.n)
                write_indent(e);
            else
                write_runes(e, t, i, end);
        } else if (yaml_is_break(t.at[i])) {
            while (end < t.n && yaml_is_break(t.at[end])) end++;
            line_break(e); /* one break reads as a space, so each stands for one more */
            for (int j = i; j < end; j++) line_break(e);
            write_indent(e);
        } else if (t.at[i] == '\'') {
            write_ascii(e, "''");
            end++;
        } else {
            while (end < t.n && t.at[end] != ' ' && t.at[end] != '\'' && !yaml_is_break(t.at[end]))
                end++;
            write_runes(e, t, i, end);
        }
        i = end;
    }
    write_indicator(e, "'", false, false);
}

static void write_escape(Emitter *e, uint32_t c)
{
    static const struct {
        uint32_t code;
        const char *text;
    } known[] = { { 0, "\\0" },    { 7, "\\a" },      { 8, "\\b" },     { 9, "\\t" },
                  { 10, "\\n" },   { 11, "\\v" },     { 12, "\\f" },    { 13, "\\r" },
                  { 27, "\\e" },   { '"', "\\\"" },   { '\\', "\\\\" }, { 0x85, "\\N" },
                  { 0xA0, "\\_" }, { 0x2028, "\\L" }, { 0x2029, "\\P" } };
    char text[16];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == c) {
            write_ascii(e, known[i].text);
            return;
        }
    snprintf(text, sizeof text, c <= 0xFF ? "\\x%02X" : c <= 0xFFFF ? "\\u%04X" : "\\U%08X", c);
    write_ascii(e, text);
}

static bool is_escaped(const Emitter *e, uint32_t c)
{
    if (c == '"' || c == '\\' || c < 0x20) return true;
    bool is_separator = c == 0x85 || c == 0x2028 || c == 0x2029;
    return c > 0x7E && !(e->keeps_unicode && yaml_is_printable(c) && c < 0x10000 && !is_separator);
}

static void write_double_quoted(Emitter *e, Runes t, bool may_fold)
{
    write_indicator(e, "\"", true, false);
    int start = 0;
    for (int end = 0; end <= t.n; end++) {
        bool at_end = end == t.n;
        uint32_t c = at_end ? 0 : t.at[end];
        if (at_end || is_escaped(e, c)) {
            write_runes(e, t, start, end);
            start = end;
            if (!at_end) {
                write_escape(e, c);
                start = end + 1;
            }
        }
        if (end <= 0 || end >= t.n - 1 || (c != ' ' && start < end)) continue;
        if (e->column + (end - start) <= BEST_WIDTH || !may_fold) continue;
        if (start < end) {
            write_runes(e, t, start, end);
            start = end;
        }
        write_ascii(e, "\\");
        fold(e);
        if (t.at[start] == ' ') write_ascii(e, "\\");
    }
    write_indicator(e, "\"", false, false);
}

/* `is_string`: the text must read back as a string. */
static void emit_scalar(Emitter *e, const char *text, size_t len, bool is_string, bool is_key)
{
    Runes t = yaml_runes(e->arena, text, len);
    ScalarAnalysis a = yaml_analyze(t, e->keeps_unicode);
    bool is_plain = a.allows_plain && !(is_key && (!t.n || a.is_multiline)) &&
                    (!is_string || (strlen(text) == len && yaml_is_plain_string(text)));
    int outer = e->indent;
    e->indent = e->indent < 0 ? BEST_INDENT : e->indent + BEST_INDENT;
    if (is_plain)
        write_plain(e, t, !is_key);
    else if (a.allows_single_quotes && !(is_key && a.is_multiline))
        write_single_quoted(e, t, !is_key);
    else
        write_double_quoted(e, t, !is_key);
    e->indent = outer;
}

/* A scalar that is no string and needs no quotes. */
static void emit_text(Emitter *e, const char *text)
{
    emit_scalar(e, text, strlen(text), false, false);
}

static void emit_float(Emitter *e, double x)
{
    char text[32], *exponent;
    format_double(x, text);
    if (isnan(x))
        strcpy(text, ".nan");
    else if (isinf(x))
        strcpy(text, x > 0 ? ".inf" : "-.inf");
    else if (!strchr(text, '.') && (exponent = strchr(text, 'e'))) {
        memmove(exponent + 2, exponent, strlen(exponent) + 1);
        memcpy(exponent, ".0", 2);
    }
    emit_text(e, text);
}

static void emit_node(Emitter *e, const Yaml *y, bool is_in_map);

static void emit_list(Emitter *e, const Yaml *y, bool is_in_map)
{
    int outer = e->indent;
    bool is_indentless = is_in_map && !e->is_at_indent;
    if (outer < 0)
        e->indent = 0;
    else if (!is_indentless)
        e->indent += BEST_INDENT;
    for (int64_t i = 0; i < y->n; i++) {
        write_indent(e);
        write_indicator(e, "-", true, true);
        emit_node(e, y->item[i], false);
    }
    e->indent = outer;
}

static int compare_keys(const void *x, const void *y)
{
    const Yaml *const *a = x, *const *b = y;
    const Yaml *p = *a, *q = *b;
    return strcmp(p->parent->key[p->index]->text, q->parent->key[q->index]->text);
}

static void emit_key(Emitter *e, const Yaml *key)
{
    bool is_string = key->type == YAML_STRING;
    if (e->is_unsorted && key->type == YAML_BOOL) {
        emit_text(e, key->boolean ? "true" : "false");
        write_indicator(e, ":", false, false);
        return;
    }
    Runes t = yaml_runes(e->arena, key->text, key->text_len);
    if (t.n && t.n <= LONGEST_SIMPLE_KEY && !yaml_analyze(t, e->keeps_unicode).is_multiline) {
        emit_scalar(e, key->text, key->text_len, is_string, true);
    } else {
        write_indicator(e, "?", true, true);
        emit_scalar(e, key->text, key->text_len, is_string, false);
        write_indent(e);
        write_indicator(e, ":", true, true);
        return;
    }
    write_indicator(e, ":", false, false);
}

static void emit_map(Emitter *e, const Yaml *y)
{
    int outer = e->indent;
    e->indent = outer < 0 ? 0 : outer + BEST_INDENT;
    /* The copies' own parent and index tell the key of each value. */
    Yaml *copy = yaml_copy(e->arena, y, NULL);
    Yaml **sorted = NEW_N(e->arena, Yaml *, y->n);
    memcpy(sorted, copy->item, sizeof *sorted * (size_t)y->n);
    if (!e->is_unsorted) qsort(sorted, (size_t)y->n, sizeof *sorted, compare_keys);
    for (int64_t i = 0; i < y->n; i++) {
        write_indent(e);
        emit_key(e, copy->key[sorted[i]->index]);
        emit_node(e, sorted[i], true);
    }
    e->indent = outer;
}

static void emit_node(Emitter *e, const Yaml *y, bool is_in_map)
{
    char number[32];
    switch (y->type) {
    case YAML_NULL:
        emit_text(e, "null");
        return;
    case YAML_BOOL:
        emit_text(e, y->boolean ? "true" : "false");
        return;
    case YAML_INT:
        emit_text(e, yaml_int_text(y, number));
        return;
    case YAML_FLOAT:
        if (e->is_unsorted && yaml_is_plain_string(y->text))
            emit_text(e, y->text); /* 1e-5, which PyYAML takes for a text */
        else
            emit_float(e, y->number);
        return;
    case YAML_LIST:
        if (y->n)
            emit_list(e, y, is_in_map);
        else
            write_indicator(e, "[]", true, false);
        return;
    case YAML_MAP:
        if (y->n)
            emit_map(e, y);
        else
            write_indicator(e, "{}", true, false);
        return;
    default:
        if (e->is_unsorted && !y->is_quoted && !y->is_literal && !yaml_is_plain_string(y->text))
            emit_text(e, y->text); /* a date, which PyYAML takes for one */
        else
            emit_scalar(e, y->text, y->text_len, true, false);
        return;
    }
}

static void emit(const Yaml *node, bool keeps_unicode, bool is_unsorted, Text *out)
{
    Emitter e = { .arena = arena_new(),
                  .out = out,
                  .indent = -1,
                  .is_after_space = true,
                  .is_at_indent = true,
                  .keeps_unicode = keeps_unicode,
                  .is_unsorted = is_unsorted };
    emit_node(&e, node, false);
    if (e.column || node->type == YAML_STRING) line_break(&e);
    arena_free(e.arena);
}

void yaml_emit(const Yaml *node, Text *out)
{
    emit(node, false, false, out);
}

void yaml_emit_unsorted(const Yaml *node, Text *out)
{
    emit(node, false, true, out);
}

void yaml_emit_unicode(const Yaml *node, Text *out)
{
    emit(node, true, false, out);
}
