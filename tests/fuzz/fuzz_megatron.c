/* fuzz_megatron.c - any bytes as an index of Megatron-LM or fairseq: an error, or sequences that
 * lie inside the data and documents that cover them. */
#include "data/megatron_index.h"
#include "fuzz.h"

enum { BIN_BYTES = 1000 };

static void check(const MegatronIndex *m)
{
    int64_t end = 0;
    CHECK(m->n_documents >= 0 && m->n_sequences >= 0);
    for (int64_t i = 0; i < m->n_sequences; i++) {
        CHECK(megatron_place(m, i) >= 0 && megatron_bytes(m, i) >= 0);
        CHECK(megatron_place(m, i) + megatron_bytes(m, i) <= BIN_BYTES);
    }
    for (int64_t d = 0; d <= m->n_documents; d++) {
        CHECK(megatron_first(m, d) >= end);
        end = megatron_first(m, d);
    }
    CHECK(end == m->n_sequences);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int by_sequence = 0; by_sequence < 2; by_sequence++) {
        MegatronIndex m;
        Error *e = megatron_index_open((Str){ (const char *)data, size }, "fuzz", BIN_BYTES,
                                       by_sequence, &m);
        if (!e) check(&m);
        error_free(e);
    }
    return 0;
}
