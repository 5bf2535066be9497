/* decode_stream.c - decodes id by id: with the tokenizer's own stream, or else a window of the
 * latest ids, of which what is new and settled is handed on.
 *
 * A window is the ids since the text was last settled to its end, behind the ids of the window
 * before: decoders look at a token's neighbours, so those give the context. */
#include "tokenizer/decode_stream.h"

/* A text that never settles (an endless row of broken characters) must not make the window grow. */
enum { LONGEST_WINDOW = 256, SHORTENED_WINDOW = 16 };

struct DecodeStream {
    Arena *arena;
    const Tokenizer *tokenizer;
    TokenStream *own; /* the tokenizer's own stream; if it has none: */
    bool skip_special;
    Ids ids; /* context, then the window */
    int64_t n_context;
    Text text;              /* of all these ids */
    size_t n_given;         /* bytes of it that were handed on, or belong to the context */
    size_t n_context_bytes; /* of the context alone */
};

DecodeStream *decode_stream_new(const Tokenizer *tokenizer, bool skip_special_tokens)
{
    Arena *a = arena_new();
    DecodeStream *s = NEW(a, DecodeStream);
    *s = (DecodeStream){ .arena = a, .tokenizer = tokenizer, .skip_special = skip_special_tokens };
    if (tokenizer->stream_new) s->own = tokenizer->stream_new(tokenizer, skip_special_tokens, a);
    return s;
}

void decode_stream_free(DecodeStream *s)
{
    ids_free(&s->ids);
    text_free(&s->text);
    arena_free(s->arena);
}

static Error *decode(DecodeStream *s)
{
    text_clear(&s->text);
    return s->tokenizer->decode(s->tokenizer, s->ids.id, s->ids.n, s->skip_special, &s->text);
}

static void drop_first(Ids *ids, int64_t n)
{
    for (int64_t i = n; i < ids->n; i++) ids->id[i - n] = ids->id[i];
    ids->n -= n;
}

static void give(DecodeStream *s, size_t until, Text *out)
{
    if (until <= s->n_given) return;
    text_add(out, s->text.ptr + s->n_given, until - s->n_given);
    s->n_given = until;
}

/* Keeps only the last ids when their text alone is the end of the text of all. */
static Error *shorten(DecodeStream *s)
{
    Text whole = s->text;
    size_t given = s->n_given;
    int64_t dropped = s->ids.n - SHORTENED_WINDOW;
    Ids all = s->ids;
    s->text = (Text){ 0 };
    s->ids = (Ids){ all.id + dropped, SHORTENED_WINDOW, SHORTENED_WINDOW };
    Error *e = decode(s);
    s->ids = all;
    if (!e && s->text.len <= whole.len && given >= whole.len - s->text.len &&
        str_equal((Str){ s->text.ptr, s->text.len },
                  (Str){ whole.ptr + whole.len - s->text.len, s->text.len })) {
        drop_first(&s->ids, dropped);
        s->n_given = given - (whole.len - s->text.len);
        s->n_context = 0;
        s->n_context_bytes = 0;
    }
    text_free(&whole);
    return e;
}

/* All is settled: the window becomes the context, or is forgotten when it adds no text. */
static Error *close_window(DecodeStream *s)
{
    if (s->text.len == s->n_context_bytes) {
        s->ids.n = s->n_context;
        return NULL;
    }
    drop_first(&s->ids, s->n_context);
    s->n_context = s->ids.n;
    TRY(decode(s));
    s->n_given = s->n_context_bytes = s->text.len;
    return NULL;
}

Error *decode_stream_add(DecodeStream *s, uint32_t id, Text *out)
{
    if (s->own) return s->own->add(s->own, id, out);
    ids_add(&s->ids, id);
    TRY(decode(s));
    Str text = { s->text.ptr, s->text.len };
    size_t settled = s->tokenizer->settled(s->tokenizer, text);
    give(s, settled, out);
    if (settled < text.len) return s->ids.n > LONGEST_WINDOW ? shorten(s) : NULL;
    return close_window(s);
}

Error *decode_stream_finish(DecodeStream *s, Text *out)
{
    if (s->own) return s->own->finish(s->own, out);
    TRY(decode(s));
    give(s, s->text.len, out);
    s->ids.n = s->n_context = 0;
    s->n_given = s->n_context_bytes = 0;
    return NULL;
}
