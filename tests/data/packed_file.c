/* packed_file.c - writes small .pbin files. */
#include "data/packed_file.h"
#include "data/pbin.h"
#include "test.h"

const char *packed_file(Arena *a, const char *name, int token_bytes, uint32_t first,
                        const int64_t *length, int64_t n)
{
    const char *path = path_join(a, test_folder(), name);
    PbinWriter w;
    assert_no_error(pbin_create(path, token_bytes, &w));
    for (int64_t i = 0; i < n; i++) {
        Text tokens = { 0 };
        for (int64_t k = 0; k < length[i]; k++, first++)
            assert_no_error(pbin_encode(&first, 1, token_bytes, &tokens));
        assert_no_error(pbin_add(&w, tokens.ptr, tokens.len));
        text_free(&tokens);
    }
    assert_no_error(pbin_commit(&w));
    return path;
}
