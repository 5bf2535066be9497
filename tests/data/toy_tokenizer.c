/* toy_tokenizer.c - a tokenizer of bytes. */
#include "data/toy_tokenizer.h"
#include <stdlib.h>

static Encoder *encoder_new(const Tokenizer *self)
{
    Encoder *e = malloc(sizeof *e);
    CHECK(e != NULL);
    *e = (Encoder){ .tokenizer = self };
    return e;
}

static void encoder_free(Encoder *e)
{
    free(e);
}

static Error *encode(Encoder *e, Str text, bool add_special_tokens, Ids *out)
{
    CHECK(e->tokenizer->encode == encode && add_special_tokens);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '#') return error_new("the toy tokenizer has no '#'");
        ids_add(out, text.ptr[i] == '~' ? 70000 : (uint8_t)text.ptr[i]);
    }
    return NULL;
}

static Error *decode(const Tokenizer *self, const uint32_t *id, int64_t n, bool skip_special_tokens,
                     Text *out)
{
    (void)self;
    for (int64_t i = 0; i < n; i++)
        if (id[i] != '\n' || !skip_special_tokens) text_putc(out, (char)id[i]);
    return NULL;
}

static int64_t token_id(const Tokenizer *self, Str token)
{
    (void)self;
    return str_is(token, "<eod>") ? '\n' : str_is(token, "<far>") ? 70000 : -1;
}

static bool token_name(const Tokenizer *self, uint32_t id, Str *out)
{
    static const char digits[] = "0123456789";
    if (id < '0' || id > '9' || id >= self->n_ids) return false;
    *out = (Str){ digits + (id - '0'), 1 };
    return true;
}

Tokenizer toy_tokenizer(int64_t vocab_size)
{
    return (Tokenizer){ .kind = "toy",
                        .vocab_size = vocab_size,
                        .n_ids = vocab_size,
                        .encoder_new = encoder_new,
                        .encode = encode,
                        .encoder_free = encoder_free,
                        .decode = decode,
                        .token_id = token_id,
                        .token_name = token_name };
}
