/* tokenizer_inspect.c - `tokenizer inspect PATH`: what a tokenizer holds, and how it cuts a text.
 */
#include "base/terminal.h"
#include "base/utf8.h"
#include "command.h"
#include "tokenizer/tokenizer.h"
#include <stdio.h>
#include <utf8proc.h>

typedef struct Options {
    const char *path, *text;
    bool vocabulary;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, path, NULL, TOKENIZER_FILES, .flags = FIELD_ARGUMENT,
               .role = PATH_READ_TOKENIZER),
    FIELD_STRING(Options, text, "null", "show what each stage makes of this text, and its tokens"),
    FIELD_BOOL(Options, vocabulary, "false", "list every id with its name"),
    { 0 },
};

enum { STAGE_COLUMNS = 36, RESULT_COLUMN = STAGE_COLUMNS + 10 };

/* Characters that would not be seen are written by their numbers. */
static bool is_seen(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return c == ' ';
    default:
        return true;
    }
}

/* Appends a text between two marks; returns how many columns that takes. */
static int quote(Str s, char open, char close, Text *out)
{
    int columns = 2, len;
    text_putc(out, open);
    for (size_t at = 0; at < s.len; at += (size_t)len) {
        Str rest = { s.ptr + at, s.len - at };
        size_t before = out->len;
        len = 1;
        if (!utf8_valid_length((Str){ rest.ptr, rest.len < 4 ? rest.len : 4 })) {
            text_printf(out, "\\x%02X", (unsigned char)*rest.ptr);
            columns += (int)(out->len - before);
            continue;
        }
        uint32_t c = utf8_decode(rest.ptr, &len);
        if (is_seen(c)) {
            if (c == '"' && close == '"') text_putc(out, '\\'), columns++;
            text_add(out, rest.ptr, (size_t)len);
            columns += utf8proc_charwidth((utf8proc_int32_t)c);
            continue;
        }
        if (c == '\n' || c == '\t' || c == '\r')
            text_puts(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else
            text_printf(out, c < 0x10000 ? "\\u%04X" : "\\U%06X", c);
        columns += (int)(out->len - before);
    }
    text_putc(out, close);
    return columns;
}

static void print_token(const Tokenizer *t, uint32_t id)
{
    Text line = { 0 };
    Str name;
    bool known = t->token_name(t, id, &name);
    quote(known ? name : (Str){ "", 0 }, '"', '"', &line);
    printf("%8u  %s%s\n", id, line.ptr, t->is_special(t, id) ? "  special" : "");
    text_free(&line);
}

static void print_summary(const Tokenizer *t)
{
    int64_t n_special = 0, n_named = 0;
    Str name;
    for (int64_t id = 0; id < t->n_ids; id++) {
        n_special += t->is_special(t, (uint32_t)id);
        n_named += t->token_name(t, (uint32_t)id, &name);
    }
    printf("model           %s\nvocabulary      %lld\nids             0 to %lld, %lld in "
           "use\nspecial tokens  %lld\n",
           t->kind, (long long)t->vocab_size, (long long)t->n_ids - 1, (long long)n_named,
           (long long)n_special);
    for (int64_t id = 0; id < t->n_ids; id++) {
        if (t->is_special(t, (uint32_t)id)) print_token(t, (uint32_t)id);
    }
}

/* What the stage before made, to tell whether the next one changes it. */
typedef struct Stages {
    Arena *arena;
    TraceItem *item;
    int64_t n;
    int width;
} Stages;

static bool is_same(const Stages *s, const TraceItem *item, int64_t n)
{
    if (n != s->n) return false;
    for (int64_t i = 0; i < n; i++) {
        if (item[i].is_token != s->item[i].is_token || !str_equal(item[i].text, s->item[i].text))
            return false;
    }
    return true;
}

static void keep(Stages *s, const TraceItem *item, int64_t n)
{
    s->item = arena_copy(s->arena, item, (size_t)n * sizeof *item);
    s->n = n;
    for (int64_t i = 0; i < n; i++)
        s->item[i].text.ptr = arena_string_n(s->arena, item[i].text.ptr, item[i].text.len);
}

/* One row per stage: texts in quotes, tokens in brackets, on as many lines as they need. */
static void print_stage(void *arg, const char *stage, const TraceItem *item, int64_t n)
{
    Stages *s = arg;
    printf("%-*s  %6lld  ", STAGE_COLUMNS, stage, (long long)n);
    if (s->item && is_same(s, item, n)) {
        printf("the same\n");
        return;
    }
    keep(s, item, n);
    int column = RESULT_COLUMN;
    for (int64_t i = 0; i < n; i++) {
        Text one = { 0 };
        bool is_token = item[i].is_token;
        int columns = quote(item[i].text, is_token ? '[' : '"', is_token ? ']' : '"', &one);
        bool wraps = column > RESULT_COLUMN && column + 1 + columns > s->width;
        if (wraps) printf("\n%*s", RESULT_COLUMN, "");
        if (wraps) column = RESULT_COLUMN;
        printf("%s%s", column > RESULT_COLUMN ? " " : "", one.ptr);
        column += columns + (column > RESULT_COLUMN);
        text_free(&one);
    }
    putchar('\n');
}

static Error *print_stages(Arena *a, const Tokenizer *t, const char *text)
{
    Stages s = { .arena = a, .width = terminal_width(1) };
    TraceItem whole = { .text = str_of(text) };
    printf("\n%-*s  %6s  %s\n", STAGE_COLUMNS, "stage", "pieces", "text in quotes, [tokens]");
    print_stage(&s, "text", &whole, 1);
    return t->trace(t, whole.text, print_stage, &s);
}

/* The bytes of characters [from, to). */
static Str characters(const char *text, uint32_t from, uint32_t to)
{
    const char *at = text, *start;
    int len;
    uint32_t i = 0;
    for (; i < from && *at; i++, at += len) utf8_decode(at, &len);
    for (start = at; i < to && *at; i++, at += len) utf8_decode(at, &len);
    return (Str){ start, (size_t)(at - start) };
}

static void print_row(const Tokenizer *t, uint32_t id, Str from_text, const char *place, int width)
{
    Text token = { 0 }, text = { 0 };
    Str name;
    int columns = quote(t->token_name(t, id, &name) ? name : (Str){ "", 0 }, '[', ']', &token);
    if (from_text.len) quote(from_text, '"', '"', &text);
    int padding = width > columns ? width - columns : 0;
    const char *meant = text.len ? text.ptr : t->is_special(t, id) ? "special" : "";
    printf("%8u  %s%*s  %-10s  %s\n", id, token.ptr, padding, "", place, meant);
    text_free(&token);
    text_free(&text);
}

static int widest(const Tokenizer *t, const Ids *ids)
{
    int most = 5;
    for (int64_t i = 0; i < ids->n; i++) {
        Text token = { 0 };
        Str name;
        int columns = t->token_name(t, ids->id[i], &name) ? quote(name, '[', ']', &token) : 0;
        if (columns > most) most = columns;
        text_free(&token);
    }
    return most;
}

/* One row per token: id, name, and the characters of the text that it stands for. */
static Error *print_tokens(const Tokenizer *t, const char *text)
{
    Ids ids = { 0 }, offsets = { 0 };
    Error *e = t->encode_offsets(t, str_of(text), true, &ids, &offsets);
    int width = widest(t, &ids);
    if (!e) {
        printf("\n%lld tokens\n%8s  %-*s  %-10s  %s\n", (long long)ids.n, "id", width, "token",
               "characters", "text");
    }
    for (int64_t i = 0; !e && i < ids.n; i++) {
        uint32_t from = offsets.id[2 * i], to = offsets.id[2 * i + 1];
        char place[32];
        snprintf(place, sizeof place, "%u-%u", from, to);
        print_row(t, ids.id[i], characters(text, from, to), place, width);
    }
    ids_free(&ids);
    ids_free(&offsets);
    return e;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Tokenizer *t;
    TRY(tokenizer_open(o->path, &t));
    print_summary(t);
    Str name;
    if (o->vocabulary) putchar('\n');
    for (int64_t id = 0; o->vocabulary && id < t->n_ids; id++) {
        if (t->token_name(t, (uint32_t)id, &name)) print_token(t, (uint32_t)id);
    }
    Error *e = o->text ? print_stages(a, t, o->text) : NULL;
    if (o->text && !e) e = print_tokens(t, o->text);
    t->close(t);
    return e;
}

const Command command_tokenizer_inspect = {
    .group = "tokenizer",
    .name = "inspect",
    .doc = "Prints what a tokenizer holds, and how a text goes through its stages.",
    .examples = "modalities tokenizer inspect gpt2\n"
                "modalities tokenizer inspect gpt2 --text 'How is this cut?'",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
