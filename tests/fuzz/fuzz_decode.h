/* fuzz_decode.h - decoding at once and in a stream must be the same. */
#ifndef TESTS_FUZZ_DECODE_H
#define TESTS_FUZZ_DECODE_H
#include "fuzz.h"
#include "tokenizer/decode/stream.h"

static inline void fuzz_decode(const Tokenizer *t, const Ids *ids)
{
    Text whole = { 0 }, joined = { 0 };
    Error *decoding = t->decode(t, ids->id, ids->n, true, &whole), *streaming = NULL;
    DecodeStream *s = decode_stream_new(t, true);
    for (int64_t i = 0; i < ids->n && !streaming; i++)
        streaming = decode_stream_add(s, ids->id[i], &joined);
    if (!streaming) streaming = decode_stream_finish(s, &joined);
    CHECK(!decoding == !streaming);
    CHECK(decoding || str_equal((Str){ whole.ptr, whole.len }, (Str){ joined.ptr, joined.len }));
    error_free(decoding);
    error_free(streaming);
    decode_stream_free(s);
    text_free(&whole);
    text_free(&joined);
}
#endif
