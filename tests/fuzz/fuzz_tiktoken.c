/* fuzz_tiktoken.c - any rank file loads or is refused; what loads encodes any text.
 *
 * An input is a rank file, to which the 256 bytes are added, a zero byte, and the text to encode.
 */
#include "fuzz.h"
#include "tokenizer/hf/tiktoken.h"
#include <string.h>

static void add_bytes(Text *file)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int byte = 0; byte < 256; byte++)
        text_printf(file, "%c%c== %d\n", digit[byte >> 2], digit[(byte & 3) << 4], byte);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *gap = memchr(data, 0, size);
    size_t n = gap ? (size_t)(gap - data) : size;
    Str text = { (const char *)data + n, size - n };
    Arena *a = arena_new();
    Text file = { 0 };
    int fd;
    add_bytes(&file);
    text_add(&file, data, n);
    TiktokenOptions options = { .pattern = "[a-z]+|[^a-z]", .allow_special = true };
    Tokenizer *t;
    Error *e = tiktoken_open(fuzz_file(a, (const uint8_t *)file.ptr, file.len, &fd), &options, &t);
    if (!e) {
        Encoder *encoder = t->encoder_new(t);
        Ids ids = { 0 };
        Text back = { 0 };
        error_free(t->encode(encoder, text, true, &ids));
        for (int64_t i = 0; i < ids.n; i++) CHECK(ids.id[i] < t->n_ids);
        CHECK(!t->decode(t, ids.id, ids.n, false, &back));
        if (ids.n) CHECK(str_equal((Str){ back.ptr, back.len }, text));
        text_free(&back);
        ids_free(&ids);
        t->encoder_free(encoder);
        t->close(t);
    }
    error_free(e);
    text_free(&file);
    close(fd);
    arena_free(a);
    return 0;
}
