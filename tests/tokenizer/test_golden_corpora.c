/* test_golden_corpora.c - checksums of the ids of whole corpora. */
#include "base/md5.h"
#include "tokenizer/golden_tokenizers.h"
#include <string.h>

/* A row of corpora.tsv. */
typedef struct Corpus {
    char tokenizer[64], name[64], md5[33];
    long long docs, bytes, tokens;
} Corpus;

static int64_t read_corpora(Arena *a, Corpus **out)
{
    Str text;
    assert_no_error(file_read(a, shared_path(a, "data/goldens/tokenizers/corpora.tsv"), &text));
    int64_t n = 0, cap = 0;
    *out = NULL;
    for (const char *line = strchr(text.ptr, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        *out = arena_grow(a, *out, n, &cap, sizeof **out);
        Corpus *c = &(*out)[n++];
        assert_int_equal(6, sscanf(line, "%63[^\t]\t%63[^\t]\t%lld\t%lld\t%lld\t%32s", c->tokenizer,
                                   c->name, &c->docs, &c->bytes, &c->tokens, c->md5));
    }
    return n;
}

GOLDEN_CASES(corpora_cases)
{
    Corpus *c;
    int64_t n = read_corpora(to->arena, &c);
    for (int64_t i = 0; i < n; i++)
        golden_add(to, "tokenizers/corpora.tsv/%s/%s", c[i].tokenizer, c[i].name);
}

typedef struct Sum {
    const Tokenizer *tokenizer;
    Encoder *encoder;
    Ids ids;
    Md5 md5;
    int64_t docs, bytes, tokens;
} Sum;

static void add_document(Sum *s, Str text)
{
    s->ids.n = 0;
    assert_no_error(s->tokenizer->encode(s->encoder, text, false, &s->ids));
    md5_add(&s->md5, s->ids.id, (size_t)s->ids.n * sizeof *s->ids.id);
    s->docs++;
    s->bytes += (int64_t)text.len;
    s->tokens += s->ids.n;
}

/* The field of each line, until the sum of bytes would pass the limit. */
static void add_jsonl(Sum *s, Str file, const char *key, int64_t limit)
{
    for (const char *at = file.ptr; *at;) {
        size_t len = strcspn(at, "\n");
        json_t *row = json_loadb(at, len, JSON_ALLOW_NUL, NULL);
        Str text = golden_text(row, key);
        bool fits = s->bytes + (int64_t)text.len <= limit;
        if (fits) add_document(s, text);
        json_decref(row);
        if (!fits) return;
        at += len + (at[len] == '\n');
    }
}

static void add_lines(Sum *s, Str file)
{
    for (const char *at = file.ptr, *end; *at; at = end + 1) {
        end = at + strcspn(at, "\n");
        add_document(s, (Str){ at, (size_t)(end - at) });
        if (!*end) return;
    }
}

static Str data(Arena *a, const char *name)
{
    Str text;
    assert_no_error(file_read(a, shared_path(a, arena_printf(a, "data/text/%s", name)), &text));
    return text;
}

static void add_corpus(Arena *a, Sum *s, const char *name)
{
    if (!strcmp(name, "books_6m"))
        add_jsonl(s, data(a, "books_24m.jsonl"), "text", 6000000);
    else if (!strcmp(name, "multilingual_4m"))
        add_jsonl(s, data(a, "multilingual.jsonl"), "text", 4000000);
    else if (!strcmp(name, "gsm8k_question"))
        add_jsonl(s, data(a, "gsm8k_train.jsonl"), "question", INT64_MAX);
    else if (!strcmp(name, "wikitext2_valid_lines"))
        add_lines(s, data(a, "wikitext2_valid.txt"));
    else if (!strcmp(name, "tinyshakespeare"))
        add_document(s, data(a, "tinyshakespeare.txt"));
    else
        fail_msg("unknown corpus %s", name);
}

TEST(golden_corpora_have_the_checksums_of_the_library)
{
    Arena *a = arena_new();
    Corpus *c;
    int64_t n = read_corpora(a, &c), n_run = 0, share = test_share(n);
    for (int64_t i = 0; i < n; i += (n + share - 1) / share) {
        if (golden_later(
                a, arena_printf(a, "tokenizers/corpora.tsv/%s/%s", c[i].tokenizer, c[i].name)))
            continue;
        Sum s = { .tokenizer = golden_tokenizer(a, c[i].tokenizer) };
        s.encoder = s.tokenizer->encoder_new(s.tokenizer);
        Arena *text = arena_new();
        add_corpus(text, &s, c[i].name);
        char hex[33];
        md5_finish(&s.md5, hex);
        if (strcmp(hex, c[i].md5) || s.docs != c[i].docs || s.bytes != c[i].bytes ||
            s.tokens != c[i].tokens) {
            fail_msg("%s on %s: %lld tokens of %lld bytes, %s", c[i].tokenizer, c[i].name,
                     (long long)s.tokens, (long long)s.bytes, hex);
        }
        s.tokenizer->encoder_free(s.encoder);
        ids_free(&s.ids);
        ((Tokenizer *)s.tokenizer)->close((Tokenizer *)s.tokenizer);
        arena_free(text);
        n_run++;
    }
    assert_true(n_run >= share);
    arena_free(a);
}
