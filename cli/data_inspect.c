/* data_inspect.c - `data inspect`: what a .pbin file holds. */
#include "base/terminal.h"
#include "base/utf8.h"
#include "command.h"
#include "data/document_lengths.h"
#include "data/pbin.h"
#include "tokenizer/tokenizer.h"
#include <stdio.h>
#include <unistd.h>

typedef struct Options {
    const char *path, *tokenizer;
    int64_t samples, sample_tokens;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, path, NULL, "file of packed tokens",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_PATH(Options, tokenizer, "null", "decode samples: " TOKENIZER_FILES,
               .flags = FIELD_EXISTS_ANY, .role = PATH_READ_TOKENIZER),
    FIELD_INT(Options, samples, "3", 0, 1000000, "documents to show, evenly spread"),
    FIELD_INT(Options, sample_tokens, "64", 1, 1000000, "tokens to show of each"),
    { 0 },
};

static void print_number(const char *name, int64_t n)
{
    char text[32];
    format_count((double)n, text);
    printf("%s %s", name, text);
}

static void print_lengths(const DocumentLengths *d)
{
    static const struct {
        double share;
        const char *name;
    } quantiles[] = { { 0.1, ", 10 % up to" },
                      { 0.5, ", half up to" },
                      { 0.9, ", 90 % up to" },
                      { 0.99, ", 99 % up to" } };
    Text picture = { 0 };
    print_number("lengths       mean", d->n ? d->sum / d->n : 0);
    for (int i = 0; i < 4; i++)
        print_number(quantiles[i].name, document_lengths_quantile(d, quantiles[i].share));
    print_number(", longest", d->longest);
    printf(" tokens\n\n");
    document_lengths_draw(d, terminal_width(STDOUT_FILENO), terminal_is_utf8(), &picture);
    fwrite(picture.ptr, 1, picture.len, stdout);
    text_free(&picture);
}

/* In quotes on one line; what is no UTF-8, as half a character at a cut, becomes U+FFFD. */
static void put_text(Text *out, Str text)
{
    Text clean = { 0 };
    utf8_add_repaired(&clean, text);
    text_putc(out, '"');
    for (size_t i = 0; i < clean.len; i++) {
        char c = clean.ptr[i];
        if (c == '\n')
            text_puts(out, "\\n");
        else if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if ((uint8_t)c < ' ' || c == 0x7f)
            text_printf(out, "\\x%02x", c);
        else
            text_putc(out, c);
    }
    text_putc(out, '"');
    text_free(&clean);
}

/* One line: number, tokens, and the beginning as text, or as ids without a tokenizer. */
static Error *print_sample(const Options *o, const Pbin *p, const Tokenizer *t, int64_t number,
                           IndexEntry e)
{
    int64_t n = e.length / p->token_bytes, shown = n < o->sample_tokens ? n : o->sample_tokens;
    Ids ids = { 0 };
    Text text = { 0 }, line = { 0 };
    pbin_decode((Str){ (const char *)p->tokens + e.offset, (size_t)(shown * p->token_bytes) },
                p->token_bytes, ids_reserve(&ids, shown + 1));
    Error *err = t ? t->decode(t, ids.id, shown, false, &text) : NULL;
    if (t)
        put_text(&line, (Str){ text.len ? text.ptr : "", text.len });
    else
        for (int64_t i = 0; i < shown; i++) text_printf(&line, i ? " %u" : "%u", ids.id[i]);
    if (!err)
        printf("document %lld (%lld tokens): %s%s\n", (long long)number, (long long)n,
               line.len ? line.ptr : "", shown < n ? " ..." : "");
    ids_free(&ids);
    text_free(&text);
    text_free(&line);
    return err;
}

static Error *print_samples(Arena *a, const Options *o, const Pbin *p, const Tokenizer *t)
{
    PbinDocuments d;
    IndexEntry e;
    TRY(pbin_documents_open(a, p, &d));
    int64_t n = o->samples < d.n ? o->samples : d.n, shown = 0;
    if (n) putchar('\n');
    for (int64_t i = 0; shown < n && pbin_documents_next(&d, &e); i++)
        if (i == shown * d.n / n) {
            TRY(print_sample(o, p, t, i, e));
            shown++;
        }
    return NULL;
}

static Error *inspect(Arena *a, const Options *o, const Tokenizer *t)
{
    Pbin p;
    PbinDocuments d;
    IndexEntry e;
    char bytes[32];
    TRY(pbin_open(a, o->path, &p));
    TRY(pbin_documents_open(a, &p, &d));
    DocumentLengths *lengths = document_lengths_new(a);
    while (pbin_documents_next(&d, &e)) document_lengths_add(lengths, e.length / p.token_bytes);
    format_bytes((double)p.n_tokens * p.token_bytes, bytes);
    printf("file          %s\ndocuments     %lld\ntokens        %lld of %d bytes (%s)\n", o->path,
           (long long)d.n, (long long)p.n_tokens, p.token_bytes, bytes);
    printf("index         covers all tokens%s\n",
           d.is_miscounted ? "; its offsets were miscounted by the original's merging, and read as "
                             "they were meant (`data merge_packed_data` writes them right)"
                           : "");
    print_lengths(lengths);
    return print_samples(a, o, &p, t);
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Tokenizer *t = NULL;
    if (o->tokenizer) TRY(tokenizer_open(o->tokenizer, &t));
    Error *e = inspect(a, o, t);
    if (t) t->close(t);
    return e;
}

const Command command_data_inspect = {
    .group = "data",
    .name = "inspect",
    .doc = "Prints what a .pbin file holds: documents, tokens, lengths, samples.",
    .details = "Header and index are checked and every length is counted; the tokens are not read "
               "(`data verify` does). Memory does not grow with the file.",
    .examples = "modalities data inspect corpus.pbin\n"
                "modalities data inspect corpus.pbin --tokenizer gpt2 --samples 10",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
