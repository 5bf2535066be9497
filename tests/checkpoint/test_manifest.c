/* test_manifest.c - a manifest says what was written; one that contradicts itself is refused. */
#include "checkpoint/manifest.h"
#include "test.h"
#include <string.h>

static Error *parse(Arena *a, const char *body, Manifest **out)
{
    Text text = { 0 };
    text_puts(&text, body);
    manifest_seal(&text);
    Error *e = manifest_parse(a, "folder/manifest.json", (Str){ text.ptr, text.len }, out);
    text_free(&text);
    return e;
}

static const char HEAD[] =
    "{\"format\": \"modalities checkpoint\", \"version\": 1, \"progress\": {},\n"
    "\"parts\": [{\"file\": \"p\", \"bytes\": 48, \"header_bytes\": 16, \"header_crc32\": "
    "\"00000000\"}],\n";

/* A manifest with this list of tensors. */
static void assert_tensors_refused(const char *tensors, const char *why)
{
    Arena *a = arena_new();
    Manifest *m;
    Error *e = parse(a, arena_printf(a, "%s\"tensors\": [%s],\n", HEAD, tensors), &m);
    if (!e) fail_msg("accepted: %s", tensors);
    assert_contains(error_text(e), "folder/manifest.json: ");
    assert_error_has(e, why);
    arena_free(a);
}

#define X "{\"name\": \"x\", \"dtype\": \"F32\", \"shape\": [2, 4], \"boxes\": ["
#define BOX(start, size, bytes)                                                                    \
    "{\"part\": 0, \"start\": " start ", \"size\": " size ", \"bytes\": " bytes                    \
    ", \"crc32\": \"00000000\"}"

TEST(manifest_boxes_must_tile_their_tensor)
{
    Arena *a = arena_new();
    Manifest *m;
    assert_no_error(parse(a,
                          arena_printf(a, "%s\"tensors\": [%s],\n", HEAD,
                                       X BOX("[0, 0]", "[2, 3]", "[16, 40]") ", " BOX(
                                           "[0, 3]", "[2, 1]", "[40, 48]") "]}"),
                          &m));
    assert_int_equal(m->n_tensors, 1);
    assert_int_equal(m->tensor[0].n_boxes, 2);
    assert_int_equal(m->tensor[0].box[1].box.start[1], 3);
    assert_int_equal(m->tensor[0].box[1].end, 48);
    assert_tensors_refused(X BOX("[0, 0]", "[2, 3]", "[16, 40]") "]}",
                           "tensor \"x\": its boxes hold 6 of 8 elements");
    assert_tensors_refused(
        X BOX("[0, 0]", "[2, 3]", "[16, 40]") ", " BOX("[1, 2]", "[1, 2]", "[40, 48]") "]}",
        "its boxes [0, 0] of size [2, 3] and [1, 2] of size [1, 2] overlap");
    assert_tensors_refused(X BOX("[0, 2]", "[2, 3]", "[16, 40]") "]}",
                           "dimension 1: start 2, size 3 is not inside 4");
    assert_tensors_refused(X BOX("[0, 0]", "[2, 0]", "[16, 16]") "]}", "dimension 1");
    assert_tensors_refused(X BOX("[0]", "[2, 4]", "[16, 48]") "]}",
                           "box 0: \"start\" has 1 items instead of 2");
    assert_tensors_refused(X BOX("[0, -1]", "[2, 4]", "[16, 48]") "]}", "\"start\" item 1");
    arena_free(a);
}

/* In whatever order they come: two that overlap do not make up for one that is missing. */
TEST(manifest_boxes_that_overlap_are_found_in_any_order)
{
    static const char *const start[] = { "[0]", "[2]", "[0]", "[4]" };
    for (int i = 0; i < 256; i++) {
        const int order[] = { i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6 };
        int all = 0;
        for (int k = 0; k < 4; k++) all |= 1 << order[k];
        if (all != 15) continue;
        Arena *a = arena_new();
        Text boxes = { 0 };
        for (int k = 0; k < 4; k++)
            text_printf(&boxes, BOX("%s", "[2]", "[%d, %d]") "%s", start[order[k]], 16 + 8 * k,
                        24 + 8 * k, k < 3 ? ", " : "");
        assert_tensors_refused(
            arena_printf(a,
                         "{\"name\": \"x\", \"dtype\": \"F32\", \"shape\": [8], \"boxes\": [%s]}",
                         boxes.ptr),
            "its boxes [0] of size [2] and [0] of size [2] overlap");
        text_free(&boxes);
        arena_free(a);
    }
}

TEST(manifest_bytes_must_lie_in_their_file)
{
    assert_tensors_refused(X BOX("[0, 0]", "[2, 4]", "[8, 40]") "]}", "after the header of p");
    assert_tensors_refused(X BOX("[0, 0]", "[2, 4]", "[24, 56]") "]}", "bytes [24, 56]");
    assert_tensors_refused(X BOX("[0, 0]", "[2, 4]", "[16, 44]") "]}",
                           "are not the 32 that its size needs");
    assert_tensors_refused("{\"name\": \"x\", \"dtype\": \"U8\", \"shape\": [], \"boxes\": "
                           "[{\"part\": 1, \"start\": [], "
                           "\"size\": [], \"bytes\": [16, 17], \"crc32\": \"00000000\"}]}",
                           "part 1 of only 1");
}

TEST(manifest_tensors_must_be_well_formed)
{
    assert_tensors_refused("{}", "tensor 0: \"name\"");
    assert_tensors_refused("{\"name\": \"x\", \"dtype\": \"F33\"}",
                           "tensor \"x\": unknown dtype \"F33\"");
    assert_tensors_refused("{\"name\": \"x\", \"dtype\": \"F32\", \"shape\": [1,1,1,1,1,1,1]}",
                           "7 dimensions");
    assert_tensors_refused(
        "{\"name\": \"x\", \"dtype\": \"F32\", \"shape\": [4294967296, 4294967296], \"boxes\": []}",
        "too large");
    assert_tensors_refused("{\"name\": \"x\", \"dtype\": \"F32\", \"shape\": [], \"boxes\": "
                           "[{\"part\": 0, \"start\": [], \"size\": [], "
                           "\"bytes\": [16, 20], \"crc32\": \"0000000G\"}]}",
                           "\"crc32\" is not 8 hexadecimal digits");
    const char *empty = "{\"name\": \"x\", \"dtype\": \"F32\", \"shape\": [0], \"boxes\": []}";
    Arena *a = arena_new();
    assert_tensors_refused(arena_printf(a, "%s, %s", empty, empty), "tensor \"x\" is listed twice");
    arena_free(a);
}

static void assert_refused(const char *body, const char *why)
{
    Arena *a = arena_new();
    Manifest *m;
    assert_error_has(parse(a, body, &m), why);
    arena_free(a);
}

TEST(manifest_head_must_be_known)
{
    assert_refused("{\"format\": \"other\",\n", "\"format\" is not");
    assert_refused("{\"format\": \"modalities checkpoint\", \"version\": 3,\n",
                   "version 3 of the format; this program reads versions up to 2");
    assert_refused("{\"format\": \"modalities checkpoint\", \"version\": 1,\n",
                   "\"progress\" is missing");
    assert_refused("[\n", "manifest.json:2:");
    assert_refused("{\"format\": \"modalities checkpoint\", \"version\": 1, \"progress\": {}, "
                   "\"tensors\": [], \"parts\": [{\"file\": "
                   "\"../x\"}],\n",
                   "part 0: \"../x\" is no name of a file in this folder");
    const char *part =
        "{\"file\": \"p\", \"bytes\": 8, \"header_bytes\": 9, \"header_crc32\": \"00000000\"}";
    Arena *a = arena_new();
    const char *form = "{\"format\": \"modalities checkpoint\", \"version\": 1, \"progress\": {}, "
                       "\"tensors\": [], \"parts\": [%s%s],\n";
    assert_refused(arena_printf(a, form, part, ""), "its header is longer than the file");
    part = "{\"file\": \"p\", \"bytes\": 9, \"header_bytes\": 9, \"header_crc32\": \"00000000\"}, ";
    assert_refused(arena_printf(a, form, part, arena_string_n(a, part, strlen(part) - 2)),
                   "file \"p\" is listed twice");
    arena_free(a);
}

TEST(manifest_checksum_covers_all_lines_before_it)
{
    Arena *a = arena_new();
    Manifest *m;
    Text text = { 0 };
    text_printf(&text, "%s\"tensors\": [],\n", HEAD);
    manifest_seal(&text);
    assert_no_error(manifest_parse(a, "m", (Str){ text.ptr, text.len }, &m));
    text.ptr[5] ^= 1;
    assert_error_has(manifest_parse(a, "m", (Str){ text.ptr, text.len }, &m),
                     "m: the checksum in the last line");
    assert_error_has(manifest_parse(a, "m", (Str){ text.ptr, 20 }, &m), "m: 20 bytes are too few");
    assert_int_equal(checksum(0, "123456789", 9), 0xcbf43926); /* the usual check value of CRC-32 */
    text_free(&text);
    arena_free(a);
}
