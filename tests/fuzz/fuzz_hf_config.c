/* fuzz_hf_config.c - any config.json: an error, or a model that is written as a config.json of the
 * same, and whose queries and keys lie each at a place of their own in the tensors of the class. */
#include "fuzz.h"
#include "models/decoder_difference.h"
#include "models/hf_write.h"

enum { MOST_ROWS = 4096 };

/* A weight with one column: no two of its rows share an element of the tensor. */
static void check_rows(Arena *a, const HfModel *m, const char *param, int64_t heads)
{
    const Decoder *d = m->decoder;
    HfSource s;
    if (heads > MOST_ROWS || d->head_width > MOST_ROWS || heads * d->head_width > MOST_ROWS) return;
    const int64_t size[] = { heads * d->head_width, 1 };
    Error *e = hf_source(a, m->family, d, param, 2, size, &s);
    CHECK(e == NULL);
    const int64_t all = s.size[0] * s.size[1];
    bool *taken = NEW_N(a, bool, all);
    for (int64_t i = 0; i < all; i++) taken[i] = false;
    for (int64_t i = 0; i < size[0]; i++) {
        const int64_t at = hf_source_row(&s, i);
        CHECK(at >= 0 && at < all && !taken[at]);
        taken[at] = true;
    }
}

static void check_written(Arena *a, const HfModel *m)
{
    const HfFamily *family;
    Text text = { 0 };
    Error *e = hf_config_write(a, m->decoder, m->dtype, m->family, &family, &text);
    if (!e) {
        Yaml *root;
        HfModel again;
        CHECK(!yaml_parse(a, (Str){ text.ptr, text.len }, "config.json", &root));
        CHECK(!hf_config_parse(a, root, "config.json", &again));
        CHECK(!decoder_difference(a, m->decoder, again.decoder));
    }
    error_free(e);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Yaml *root;
    HfModel m;
    Error *e = yaml_parse(a, (Str){ (const char *)data, size }, "config.json", &root);
    if (!e) e = hf_config_parse(a, root, "config.json", &m);
    if (!e) {
        check_written(a, &m);
        check_rows(a, &m, "transformer.h.0.attn.q_attn.weight", m.decoder->n_head_q);
        check_rows(a, &m, "transformer.h.0.attn.k_attn.weight", m.decoder->n_head_kv);
    }
    error_free(e);
    arena_free(a);
    return 0;
}
