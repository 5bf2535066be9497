/* fuzz_pbin.c - any bytes as a packed file: an error, or tokens and documents that lie inside it.
 */
#include "data/datasets.h"
#include "data/pbin.h"
#include "fuzz.h"

static void read_samples(Arena *a, const Dataset *d)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < d->count(d); i++) {
        Sample s;
        Error *e = d->get(d, i, a, &s);
        CHECK(e == NULL);
        const uint8_t *bytes = s.item[0].tensor.data;
        for (size_t k = 0; k < tensor_bytes(&s.item[0].tensor); k++) sum += bytes[k];
    }
    volatile uint64_t used = sum;
    (void)used;
}

static void read_all(Arena *a, const char *path)
{
    Pbin p;
    IndexEntry *document;
    int64_t n;
    Error *e = pbin_open(a, path, &p);
    if (!e) e = pbin_documents(a, &p, &document, &n);
    for (int64_t i = 0; !e && i < n; i++) {
        CHECK(document[i].offset >= 0 && document[i].length >= 0);
        CHECK(document[i].offset + document[i].length <= p.n_tokens * p.token_bytes);
    }
    if (!e) e = pbin_check_ids(&p, 256);
    error_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    int fd;
    const char *path = fuzz_file(a, data, size, &fd);
    read_all(a, path);
    Dataset *d;
    PackedContinuous s = {
        .raw_data_path = path, .sample_key = "x", .sequence_length = 3, .reuse_last_target = true
    };
    Error *e = packed_continuous_open(a, &s, &d);
    if (!e) read_samples(a, d);
    error_free(e);
    e = packed_megatron_open(a, path, "x", 4, &d);
    if (!e) read_samples(a, d);
    error_free(e);
    close(fd);
    arena_free(a);
    return 0;
}
