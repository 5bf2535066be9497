/* fuzz_decompress.c - any bytes as a .gz or .zst file: an error or some content, in bounded memory.
 * The first byte chooses the format. */
#include "base/decompress.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > 4096) return 0; /* what is small may grow a thousandfold */
    Compression kind = data[0] & 1 ? COMPRESSED_ZSTD : COMPRESSED_GZIP;
    FILE *nowhere = fopen("/dev/null", "wb");
    CHECK(nowhere != NULL);
    error_free(
        decompress_to_stream(kind, (Str){ (const char *)data + 1, size - 1 }, "fuzz", nowhere));
    fclose(nowhere);
    return 0;
}
