/* fuzz_tokenizer_json.c - any tokenizer.json loads or is refused; what loads encodes any text.
 *
 * An input is a JSON text, a zero byte, and the text to encode. */
#include "fuzz_decode.h"
#include <string.h>

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
            if (ids.n <= 1000) fuzz_decode(t, &ids); /* else padding without end */
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
