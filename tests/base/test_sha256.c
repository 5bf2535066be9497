/* test_sha256.c - the standard's test vectors, whole and in pieces. */
#include "base/sha256.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

TEST(sha256_gives_the_standards_digests)
{
    char hex[65];
    sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256_hex(two_blocks, strlen(two_blocks), hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(sha256_of_pieces_is_that_of_the_whole)
{
    static char bytes[1000];
    memset(bytes, 'a', sizeof bytes);
    Sha256 h;
    uint8_t digest[32];
    sha256_start(&h);
    for (int i = 0; i < 1000; i++) sha256_add(&h, bytes, sizeof bytes);
    sha256_finish(&h, digest);
    static const uint8_t million[] = { 0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92 };
    assert_memory_equal(digest, million, sizeof million);

    for (size_t len = 0; len < 200; len++) {
        char whole[65], pieces[65];
        sha256_hex(bytes, len, whole);
        sha256_start(&h);
        for (size_t at = 0, n = 1; at < len; at += n, n = (n * 7) % 23 + 1)
            sha256_add(&h, bytes + at, n < len - at ? n : len - at);
        sha256_finish(&h, digest);
        for (int i = 0; i < 32; i++) snprintf(pieces + 2 * i, 3, "%02x", digest[i]);
        assert_string_equal(whole, pieces);
    }
}
