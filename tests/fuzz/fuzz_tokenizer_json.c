/* fuzz_tokenizer_json.c - any tokenizer.json loads or is refused; what loads encodes any text.
 *
 * An input is a JSON text, a zero byte, and the text to encode. */
#include "fuzz.h"
#include "tokenizer/decode_stream.h"
#include <string.h>

static void decode(const Tokenizer *t, const Ids *ids)
{
    if (ids->n > 1000) return; /* padding without end */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *gap = memchr(data, 0, size);
    size_t json = gap ? (size_t)(gap - data) : size;
    Str text = { (const char *)data + json, size - json };
    Arena *a = arena_new();
    int fd;
    Tokenizer *t;
    Error *e = tokenizer_open(fuzz_file(a, data, json, &fd), &t);
    if (!e) {
        Encoder *encoder = t->encoder_new(t);
        Ids ids = { 0 };
        /* Invalid text must be refused; the rest of it is then tried from the next byte on. */
        for (int i = 0; i < 8 && text.len; i++) {
            ids.n = 0;
            error_free(t->encode(encoder, text, true, &ids));
            for (int64_t k = 0; k < ids.n; k++) CHECK(ids.id[k] < t->n_ids);
            decode(t, &ids);
            text = (Str){ text.ptr + 1, text.len - 1 };
        }
        ids_free(&ids);
        t->encoder_free(encoder);
        t->close(t);
    }
    error_free(e);
    close(fd);
    arena_free(a);
    return 0;
}
