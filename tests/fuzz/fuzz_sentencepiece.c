/* fuzz_sentencepiece.c - any .model file loads or is refused; what loads encodes any text, with and
 * without cutting and remembering alike, and decodes in a stream what it decodes at once.
 *
 * An input is 32 bits with the length of the model, the model, and the text to encode. */
#include "fuzz_decode.h"
#include "tokenizer/sentencepiece/sentencepiece.h"
#include <string.h>

static void encode(const Tokenizer *t, Str text, Ids *out)
{
    Encoder *e = t->encoder_new(t);
    error_free(t->encode(e, text, true, out));
    for (int64_t i = 0; i < out->n; i++) CHECK(out->id[i] < t->n_ids);
    t->encoder_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t n;
    if (size < sizeof n) return 0;
    memcpy(&n, data, sizeof n);
    data += sizeof n;
    size -= sizeof n;
    if (n > size) n = (uint32_t)size;
    Str text = { (const char *)data + n, size - n };
    Arena *a = arena_new();
    int fd;
    const char *file = fuzz_file(a, data, n, &fd);
    SpOptions plain = { .plain = true };
    Tokenizer *t, *slow;
    Error *e = sentencepiece_open(file, NULL, &t);
    if (!e) {
        Ids ids = { 0 }, plain_ids = { 0 };
        CHECK(!sentencepiece_open(file, &plain, &slow));
        encode(t, text, &ids);
        encode(slow, text, &plain_ids);
        CHECK(ids.n == plain_ids.n);
        CHECK(!ids.n || !memcmp(ids.id, plain_ids.id, (size_t)ids.n * sizeof *ids.id));
        fuzz_decode(t, &ids);
        ids_free(&ids);
        ids_free(&plain_ids);
        t->close(t);
        slow->close(slow);
    }
    error_free(e);
    close(fd);
    arena_free(a);
    return 0;
}
