/* test_crc32.c - CRC-32 of any text is that of zlib. */
#include "base/crc32.h"
#include "base/rng.h"
#include "test.h"
#include <zlib.h>

enum { MOST = 1600 };

TEST(crc32_of_any_bytes_at_any_place_is_that_of_zlib)
{
    unsigned char text[MOST + 16];
    for (int i = 0; i < MOST + 16; i++) text[i] = (unsigned char)rng_bits(3, (uint64_t)i);
    for (size_t n = 0; n <= MOST; n++) {
        const unsigned char *at = text + n % 16;
        const uint32_t before = (uint32_t)rng_bits(4, n);
        assert_int_equal(crc32_add(0, at, n), crc32_z(0, at, n));
        assert_int_equal(crc32_add(before, at, n), crc32_z(before, at, n));
    }
}

TEST(crc32_goes_on_from_what_came_before)
{
    static const char text[] = "123456789";
    assert_int_equal(crc32_add(0, text, 9), 0xcbf43926);
    assert_int_equal(crc32_add(crc32_add(0, text, 4), text + 4, 5), 0xcbf43926);
}
