/* stream.c - owns a tokenizer's own stream. */
#include "tokenizer/decode/stream.h"

struct DecodeStream {
    Arena *arena;
    TokenStream *own;
};

DecodeStream *decode_stream_new(const Tokenizer *tokenizer, bool skip_special_tokens)
{
    Arena *a = arena_new();
    DecodeStream *s = NEW(a, DecodeStream);
    *s = (DecodeStream){ a, tokenizer->stream_new(tokenizer, skip_special_tokens, a) };
    return s;
}

Error *decode_stream_add(DecodeStream *s, uint32_t id, Text *out)
{
    return s->own->add(s->own, id, out);
}

Error *decode_stream_finish(DecodeStream *s, Text *out)
{
    return s->own->finish(s->own, out);
}

void decode_stream_free(DecodeStream *s)
{
    arena_free(s->arena);
}
