/* tiktoken.c - reads a rank file and makes the stages of a tokenizer.json of it.
 *
 * Which pattern and special tokens belong to the ranks is not in the file; the published ones are
 * known by their number of ranks. Names of tokens are spelled in the byte alphabet, since tokens
 * may be no UTF-8. */
#include "tokenizer/hf/tiktoken.h"
#include "base/file.h"
#include "tokenizer/bpe/walk.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/text/byte_alphabet.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Special {
    const char *name;
    uint32_t id;
} Special;

typedef struct Encoding {
    const char *name;
    int64_t n_ranks;
    const char *pattern;
    Special special[6]; /* ends with { 0 } */
} Encoding;

#define GPT2_PATTERN                                                                               \
    "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define CL100K_PATTERN                                                                             \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}|"                            \
    " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
#define O200K_PATTERN                                                                              \
    BEFORE UPPER "*" LOWER "+" CONTRACTION BEFORE UPPER "+" LOWER "*" CONTRACTION                  \
                 "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const Encoding encodings[] = {
    { "r50k_base", 50256, GPT2_PATTERN, { { "<|endoftext|>", 50256 } } },
    { "p50k_base", 50280, GPT2_PATTERN, { { "<|endoftext|>", 50256 } } },
    { "cl100k_base",
      100256,
      CL100K_PATTERN,
      { { "<|endoftext|>", 100257 },
        { "<|fim_prefix|>", 100258 },
        { "<|fim_middle|>", 100259 },
        { "<|fim_suffix|>", 100260 },
        { "<|endofprompt|>", 100276 } } },
    { "o200k_base",
      199998,
      O200K_PATTERN,
      { { "<|endoftext|>", 199999 }, { "<|endofprompt|>", 200018 } } },
};

enum { N_ENCODINGS = sizeof encodings / sizeof *encodings };

/* The tokens of a file, by rank; ptr NULL where there is none. */
typedef struct Ranks {
    Str *bytes, *name;
    int64_t n, n_ids, cap_bytes, cap_name;
} Ranks;

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes with its padding; false when that is no base64. */
static bool decode_base64(Str s, char *out, size_t *n)
{
    *n = 0;
    if (!s.len || s.len % 4) return false;
    size_t padding = (s.ptr[s.len - 1] == '=') + (s.ptr[s.len - 2] == '=');
    if (padding && s.ptr[s.len - 1] != '=') return false;
    for (size_t i = 0; i < s.len; i += 4) {
        uint32_t bits = 0;
        for (size_t k = i; k < i + 4; k++) {
            int digit = k >= s.len - padding ? 0 : base64_digit(s.ptr[k]);
            if (digit < 0) return false;
            bits = bits << 6 | (uint32_t)digit;
        }
        for (int byte = 16; byte >= 0; byte -= 8) out[(*n)++] = (char)(bits >> byte);
    }
    *n -= padding;
    return true;
}

static Error *read_line(Arena *a, Str line, Ranks *r)
{
    const char *space = memchr(line.ptr, ' ', line.len);
    Str token = { line.ptr, space ? (size_t)(space - line.ptr) : 0 };
    char *bytes = arena_alloc(a, line.len + 4);
    size_t n;
    if (!decode_base64(token, bytes, &n) || !n)
        return error_new("must start with a token in base64 and a blank");
    size_t digits = line.len - token.len - 1;
    if (!digits || digits > 9 || strspn(space + 1, "0123456789") < digits)
        return error_new("must end with a rank");
    int64_t rank = strtoll(space + 1, NULL, 10);
    if (rank > MAX_TOKEN_ID) return error_new("the rank must be at most %d", MAX_TOKEN_ID);
    for (; r->n_ids <= rank; r->n_ids++) {
        r->bytes = arena_grow(a, r->bytes, r->n_ids, &r->cap_bytes, sizeof *r->bytes);
        r->name = arena_grow(a, r->name, r->n_ids, &r->cap_name, sizeof *r->name);
        r->bytes[r->n_ids] = r->name[r->n_ids] = (Str){ NULL, 0 };
    }
    CHECK(r->bytes != NULL && r->name != NULL);
    if (r->bytes[rank].ptr) return error_new("the rank %lld is there twice", (long long)rank);
    Text name = { 0 };
    bytes_to_name((Str){ bytes, n }, &name);
    r->bytes[rank] = (Str){ bytes, n };
    r->name[rank] = (Str){ arena_string_n(a, name.ptr, name.len), name.len };
    r->n++;
    text_free(&name);
    return NULL;
}

static Error *read_ranks(Arena *a, Str file, Ranks *r)
{
    int64_t line = 1;
    for (const char *at = file.ptr, *end = at + file.len; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        size_t len = (size_t)(stop - at);
        if (len && at[len - 1] == '\r') len--;
        if (len) TRY(error_wrap(read_line(a, (Str){ at, len }, r), "line %lld", (long long)line));
        at = stop + 1;
    }
    return r->n ? NULL : error_new("no tiktoken file: it has no ranks");
}

/* Every way to make a token of two others. */
static void add_pairs(Bpe *b, const Ranks *r, uint32_t rank)
{
    Str bytes = r->bytes[rank], name = r->name[rank];
    size_t at = 0; /* in the name, whose characters stand for the bytes */
    if (!name.ptr) return;
    for (size_t i = 1; i < bytes.len; i++) {
        do at++;
        while (((uint8_t)name.ptr[at] & 0xC0) == 0x80);
        uint32_t left = vocab_find(&b->vocab, (Str){ name.ptr, at });
        if (left == NO_TOKEN) continue;
        uint32_t right = vocab_find(&b->vocab, (Str){ name.ptr + at, name.len - at });
        if (right == NO_TOKEN) continue;
        bpe_add_pair(b, left, right, rank);
        bpe_add_byte_pair(b, (Str){ bytes.ptr, i }, (Str){ bytes.ptr + i, bytes.len - i }, rank);
    }
}

/* `full`: the vocabulary with the special tokens, which merging must not find. */
static Error *make_model(Arena *a, const Ranks *r, const Vocab *full, WordModel **out)
{
    Bpe *b = NEW(a, Bpe);
    b->base = (WordModel){ .kind = "tiktoken",
                           .vocab = full,
                           .ids_per_byte = 1,
                           .word_ids = bpe_word_ids,
                           .spans = bpe_spans };
    b->unk_id = NO_TOKEN;
    b->ignore_merges = true;
    vocab_of_names(a, r->name, r->n_ids, &b->vocab);
    int64_t n_pairs = 0;
    for (int64_t i = 0; i < r->n_ids; i++) {
        n_pairs += (int64_t)r->bytes[i].len;
        if (r->name[i].ptr && vocab_find(&b->vocab, r->name[i]) != i)
            return error_new("the token of rank %lld has another rank, too", (long long)i);
    }
    bpe_tables_new(b, a, n_pairs, r->n_ids);
    bpe_bytes_new(b, a);
    if (!b->covers_bytes) return error_new("not every byte has a rank");
    for (int64_t i = 0; i < r->n_ids; i++) {
        b->merged[i] = (uint32_t)i;
        add_pairs(b, r, (uint32_t)i);
    }
    bpe_prepare_byte_walk(b, a, r->bytes, r->n_ids);
    bpe_walk_keep_pairs(a, b, r->n_ids);
    *out = &b->base;
    return NULL;
}

static Error *find_encoding(const Ranks *r, const TiktokenOptions *o, Encoding *out)
{
    *out = (Encoding){ .name = "other" };
    for (int i = 0; i < N_ENCODINGS; i++) {
        if (encodings[i].n_ranks == r->n) *out = encodings[i];
    }
    if (o->pattern) out->pattern = o->pattern;
    if (out->pattern) return NULL;
    Text known = { 0 };
    for (int i = 0; i < N_ENCODINGS; i++)
        text_printf(&known, "%s%s (%lld)", i ? ", " : "", encodings[i].name,
                    (long long)encodings[i].n_ranks);
    Error *e = error_new("%lld ranks are no known vocabulary (known: %s): the option "
                         "tiktoken_pattern must say how text is cut into words",
                         (long long)r->n, known.ptr);
    text_free(&known);
    return e;
}

/* The special tokens' names at their ids. */
static void make_full_vocab(Arena *a, const Ranks *r, const Encoding *e, Vocab *out)
{
    int64_t n = r->n_ids;
    for (const Special *s = e->special; s->name; s++) n = s->id + 1 > n ? s->id + 1 : n;
    Arena *scratch = arena_new();
    Str *name = NEW_N(scratch, Str, n);
    CHECK(r->name != NULL); /* no file without ranks comes here */
    memcpy(name, r->name, (size_t)r->n_ids * sizeof *name);
    for (const Special *s = e->special; s->name; s++) name[s->id] = str_of(s->name);
    vocab_of_names(a, name, n, out);
    arena_free(scratch);
}

static void add_special(AddedTokens *to, const Encoding *e)
{
    for (const Special *s = e->special; s->name; s++) {
        AddedToken token = { .content = str_of(s->name), .special = true };
        added_tokens_add(to, &token, 1);
    }
}

/* Only what the pattern matches is encoded. */
static Error *make_stages(HfTokenizer *t, const char *pattern, Arena *scratch)
{
    json_t *stages =
        json_pack("{s:{s:s,s:[{s:s,s:{s:s},s:s,s:b},{s:s,s:b,s:b,s:b}]},s:{s:s}}", "pre_tokenizer",
                  "type", "Sequence", "pretokenizers", "type", "Split", "pattern", "Regex", pattern,
                  "behavior", "Removed", "invert", 1, "type", "ByteLevel", "add_prefix_space", 0,
                  "trim_offsets", 1, "use_regex", 0, "decoder", "type", "ByteLevel");
    if (!stages) return error_new("tiktoken_pattern: no UTF-8");
    JsonNode root = { stages, "", scratch };
    Error *e =
        pretokenizer_load(json_member(root, "pre_tokenizer"), false, t->arena, &t->pretokenizer);
    if (!e) e = normalizer_load(json_member(root, "normalizer"), t->arena, &t->normalizer);
    if (!e) e = decoder_load(json_member(root, "decoder"), t->arena, &t->decoder);
    if (!e)
        e = post_processor_load(json_member(root, "post_processor"), t->arena,
                                added_tokens_n_ids(t->added), &t->post_processor);
    if (!e)
        e = length_rule_load(json_member(root, "truncation"), json_member(root, "padding"),
                             added_tokens_n_ids(t->added), &t->length);
    json_decref(stages);
    return e;
}

static Error *read_into(HfTokenizer *t, const char *path, const TiktokenOptions *o, Arena *scratch)
{
    Str file;
    Ranks ranks = { 0 };
    Encoding encoding;
    TRY(file_read(scratch, path, &file));
    TRY(read_ranks(t->arena, file, &ranks));
    TRY(find_encoding(&ranks, o, &encoding));
    Vocab *full = NEW(t->arena, Vocab);
    make_full_vocab(t->arena, &ranks, &encoding, full);
    TRY(make_model(t->arena, &ranks, full, &t->model));
    t->added = added_tokens_new(t->arena, full);
    add_special(t->added, &encoding);
    t->split_special = !o->allow_special;
    TRY(make_stages(t, encoding.pattern, scratch));
    TRY(hf_tokenizer_finish(t));
    t->base.vocab_size = ranks.n;
    return NULL;
}

Error *tiktoken_open(const char *path, const TiktokenOptions *options, Tokenizer **out)
{
    static const TiktokenOptions none = { 0 };
    Arena *a = arena_new(), *scratch = arena_new();
    HfTokenizer *t = NEW(a, HfTokenizer);
    t->arena = a;
    Error *e = read_into(t, path, options ? options : &none, scratch);
    arena_free(scratch);
    if (e) {
        arena_free(a);
        return error_wrap(e, "%s", path);
    }
    *out = &t->base;
    return NULL;
}

bool tiktoken_looks_like(Str start)
{
    size_t i = 0;
    while (i < start.len && (base64_digit(start.ptr[i]) >= 0 || start.ptr[i] == '=')) i++;
    return i && i + 1 < start.len && start.ptr[i] == ' ' &&
           isdigit((unsigned char)start.ptr[i + 1]);
}
