/* test_json_scan.c - lines are JSON for this program exactly where they are for Python's
 * json.loads. */
#include "base/json_scan.h"
#include "base/rng.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

#define STR(literal) ((Str){ literal, sizeof(literal) - 1 })

static void assert_accepted(Str line)
{
    JsonFault fault;
    if (!json_check(line, SURROGATES_PASS, &fault))
        fail_msg("%.*s: %s at %lld", (int)line.len, line.ptr, fault.reason,
                 (long long)fault.offset);
}

static void assert_refused(Str line, int64_t offset, const char *reason)
{
    JsonFault fault = { -1, "" };
    if (json_check(line, SURROGATES_PASS, &fault))
        fail_msg("accepted: %.*s", (int)line.len, line.ptr);
    assert_contains(fault.reason, reason);
    if (fault.offset != offset)
        fail_msg("%.*s: fault at %lld, expected %lld", (int)line.len, line.ptr,
                 (long long)fault.offset, (long long)offset);
}

TEST(every_kind_of_json_value_is_accepted)
{
    static const char *const lines[] = {
        "1",
        "-0",
        "0.5",
        "-1.5E+10",
        "1e400",
        "\"s\"",
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "{}",
        "[]",
        "[[],{},\"\",0]",
        " { \"a\" : [ 1 , 2 ] } ",
        "{\"a\":1,\"a\":2}",
        "{\"\":\"\"}",
        "\t[1]\r",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD83D\\uDE00\"",
        "\"\\ud83d\"",
        "\"\\ude00\\ud83d\"",
        "\"\x7f\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
        "\"\xed\xa0\x80\"",
        "\xef\xbb\xbf{\"a\": 1}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_accepted(str_of(lines[i]));
}

TEST(what_is_no_json_is_refused_with_its_place)
{
    assert_refused(STR(""), 0, "Expecting value");
    assert_refused(STR("  "), 2, "Expecting value");
    assert_refused(STR("\xef\xbb\xbf"), 3, "Expecting value");
    assert_refused(STR("\xef\xbb\xbf\xef\xbb\xbf 1"), 3, "Expecting value");
    assert_refused(STR("{\"a\":1}}"), 7, "Extra data");
    assert_refused(STR("1 2"), 2, "Extra data");
    assert_refused(STR("01"), 1, "Extra data");
    assert_refused(STR("1."), 2, "digit");
    assert_refused(STR("1e"), 2, "digit");
    assert_refused(STR("1e+x"), 3, "digit");
    assert_refused(STR(".5"), 0, "Expecting value");
    assert_refused(STR("+1"), 0, "Expecting value");
    assert_refused(STR("-"), 0, "Expecting value");
    assert_refused(STR("-NaN"), 0, "Expecting value");
    assert_refused(STR("nul"), 0, "Expecting value");
    assert_refused(STR("nan"), 0, "Expecting value");
    assert_refused(STR("'a'"), 0, "Expecting value");
    assert_refused(STR("[1,]"), 3, "Expecting value");
    assert_refused(STR("[1 2]"), 3, "',' delimiter");
    assert_refused(STR("[1"), 2, "',' delimiter");
    assert_refused(STR("{\"a\"}"), 4, "':' delimiter");
    assert_refused(STR("{\"a\":1,}"), 7, "property name");
    assert_refused(STR("{1:2}"), 1, "property name");
    assert_refused(STR("{\"a\":1 \"b\":2}"), 7, "',' delimiter");
    assert_refused(STR("{\"text\": \"unterminated}"), 9, "Unterminated string");
    assert_refused(STR("\"abc\\"), 4, "Unterminated string");
    assert_refused(STR("\"a\tb\""), 2, "control character");
    assert_refused(STR("\"a\0b\""), 2, "control character");
    assert_refused(STR("\"\\x41\""), 1, "Invalid \\escape");
    assert_refused(STR("\"\\u12g4\""), 1, "Invalid \\uXXXX escape");
    assert_refused(STR("\"\\u12"), 1, "Invalid \\uXXXX escape");
    assert_refused(STR("\"\xff\xfe\""), 1, "invalid UTF-8");
    assert_refused(STR("\"\xc0\xaf\""), 1, "invalid UTF-8");     /* overlong */
    assert_refused(STR("\"\xe0\x80\x80\""), 1, "invalid UTF-8"); /* overlong */
    assert_refused(STR("\"\xf4\x90\x80\x80\""), 1, "invalid UTF-8");
    assert_refused(STR("\"\xe2\x82\""), 1, "invalid UTF-8");
    assert_refused(STR("\"\xe2\x82"), 1, "invalid UTF-8");
    assert_refused(STR("{\"a\": \"\xff\"}"), 7, "invalid UTF-8");
    assert_refused(STR("\0\0\0{"), 0, "Expecting value");
}

/* Strings are scanned eight bytes at a time: every length and every place of the byte that matters.
 */
TEST(a_fault_is_found_at_any_place_of_a_string)
{
    static const char special[] = { '"', '\\', 0x1f, (char)0xff, 0x20, 0x7f, 'a' };
    for (size_t k = 0; k < sizeof special; k++)
        for (int64_t n = 0; n < 40; n++)
            for (int64_t at = 0; at < n; at++) {
                char line[64] = "\"";
                memset(line + 1, 'x', (size_t)n);
                line[1 + at] = special[k];
                line[1 + n] = '"';
                JsonFault fault = { -1, "" };
                bool ok = json_check((Str){ line, (size_t)n + 2 }, SURROGATES_PASS, &fault);
                bool should = k >= 4;
                assert_int_equal(ok, should);
                int64_t place = special[k] == '"' ? at + 2 : at + 1;
                if (special[k] == '\\' && at == n - 1) place = 0; /* \" leaves the string open */
                if (!ok) assert_int_equal(fault.offset, place);
            }
}

TEST(nesting_is_accepted_up_to_the_limit)
{
    char line[2 * JSON_MAX_DEPTH + 10];
    for (int depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
        memset(line, '[', (size_t)depth);
        memset(line + depth, ']', (size_t)depth);
        JsonFault fault;
        bool ok = json_check((Str){ line, (size_t)(2 * depth) }, SURROGATES_PASS, &fault);
        assert_int_equal(ok, depth == JSON_MAX_DEPTH);
    }
}

static void assert_finds(const char *line, const char *path, const char *text)
{
    Arena *a = arena_new();
    Str key[4];
    int n = 0;
    for (char *p = strtok(arena_string(a, path), "."); p; p = strtok(NULL, "."))
        key[n++] = str_of(p);
    Text out = { 0 };
    JsonFound found;
    JsonFault fault;
    if (!json_find(str_of(line), key, n, &out, &found, &fault)) {
        assert_string_equal(fault.reason, text);
    } else if (found.kind == JSON_STRING && found.depth == n) {
        assert_string_equal(out.len ? out.ptr : "", text);
    } else {
        Text what = { 0 };
        text_printf(&what, "%s at %d", json_kind_name(found.kind), found.depth);
        assert_string_equal(what.ptr, text);
        text_free(&what);
    }
    text_free(&out);
    arena_free(a);
}

TEST(the_value_at_a_path_is_found)
{
    assert_finds("{\"text\": \"abc\"}", "text", "abc");
    assert_finds("{\"x\": {\"text\": \"no\"}, \"text\": \"yes\", \"y\": [\"text\"]}", "text",
                 "yes");
    assert_finds("{\"text\": \"first\", \"text\": \"last wins\"}", "text", "last wins");
    assert_finds("{\"text\": \"first\", \"text\": 3}", "text", "number at 1");
    assert_finds("{\"\\u0074ext\": \"escaped key\"}", "text", "escaped key");
    assert_finds("{\"text\\u0000\": \"other key\"}", "text", "null at 1");
    assert_finds("{\"text\": \"\\u00e4\\u4e2d\\ud83d\\ude00\\/\\n\"}", "text", "ä中😀/\n");
    assert_finds("{\"text\": \"\"}", "text", "");
    assert_finds("{}", "text", "null at 1");
    assert_finds("{\"text\": null}", "text", "null at 1");
    assert_finds("{\"text\": [\"a\"]}", "text", "array at 1");
    assert_finds("[\"text\"]", "text", "array at 0");
    assert_finds("{\"a\": {\"b\": {\"c\": \"deep\"}}}", "a.b.c", "deep");
    assert_finds("{\"a\": {\"b\": \"x\"}, \"a\": {}}", "a.b", "null at 2");
    assert_finds("{\"a\": {}, \"a\": {\"b\": \"x\"}}", "a.b", "x");
    assert_finds("{\"a\": {\"b\": \"x\"}, \"a\": 5}", "a.b", "number at 1");
    assert_finds("{\"a\": null}", "a.b", "null at 1");
    assert_finds("{\"text\": \"a\", \"other\": \"\\ud83d\"}", "text",
                 "a surrogate \\uXXXX escape without its other half");
    assert_finds("{\"text\": \"a\", \"other\": \"\xed\xa0\x80\"}", "text", "invalid UTF-8");
    assert_finds("{\"text\": \"a\"", "text", "Expecting ',' delimiter");
}

/* ---- all instruction sets ---- */

static void assert_same_find(CpuLevel level, Str line, const char *name)
{
    Text x = { 0 }, y = { 0 };
    JsonFound x_found = { 0 }, y_found = { 0 };
    JsonFault x_fault = { -1, "" }, y_fault = { -1, "" };
    const Str key = str_of(name);
    bool x_ok = json_find_at(CPU_SCALAR, line, &key, 1, &x, &x_found, &x_fault);
    bool y_ok = json_find_at(level, line, &key, 1, &y, &y_found, &y_fault);
    assert_int_equal(x_ok, y_ok);
    assert_int_equal(x_fault.offset, y_fault.offset);
    assert_string_equal(x_fault.reason, y_fault.reason);
    if (x_ok) {
        assert_int_equal(x_found.kind, y_found.kind);
        assert_int_equal(x_found.depth, y_found.depth);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.ptr ? x.ptr : "", y.ptr ? y.ptr : "", x.len);
    }
    text_free(&x);
    text_free(&y);
}

/* Returns whether the line is JSON for a strict reader. */
static bool assert_same_everywhere(Str line)
{
    bool ok = false;
    for (CpuLevel level = CPU_AVX2; level <= cpu_level_available(); level++) {
        for (int policy = SURROGATES_PASS; policy <= SURROGATES_FAIL; policy++) {
            JsonFault x = { -1, "" }, y = { -1, "" };
            ok = json_check_at(CPU_SCALAR, line, (SurrogatePolicy)policy, &x);
            bool same = ok == json_check_at(level, line, (SurrogatePolicy)policy, &y) &&
                        x.offset == y.offset && !strcmp(x.reason, y.reason);
            if (!same)
                fail_msg("%s: %s at %lld, %s: %s at %lld", cpu_level_name(CPU_SCALAR), x.reason,
                         (long long)x.offset, cpu_level_name(level), y.reason, (long long)y.offset);
        }
        assert_same_find(level, line, "a");
    }
    return ok;
}

/* Pieces of JSON and what may be broken in it; UTF-8 right and wrong in every way. */
static const Str pieces[] = {
    STR("\""),
    STR("\\"),
    STR("\\\""),
    STR("\\\\"),
    STR("\\n"),
    STR("\\/"),
    STR("\\x"),
    STR("\\u"),
    STR("\\u0041"),
    STR("\\u00E9"),
    STR("\\u20aC"),
    STR("\\u12"),
    STR("\\ud83d"),
    STR("\\uDE00"),
    STR("\\ud83d\\ude00"),
    STR("\\ud83d\\ud83d\\ude00"),
    STR("\\uD83D\\u0041"),
    STR("\\ud83d\\n"),
    STR("\\ud7ff\\ue000"),
    STR("\\udg00"),
    STR("{\"a\": \""),
    STR("\"}"),
    STR("{\"b\":"),
    STR(","),
    STR("[[[["),
    STR("]]]]"),
    STR(":"),
    STR(" "),
    STR("\0"),
    STR("\x1f"),
    STR("\t"),
    STR("\x7f"),
    STR("\xc3\xa9"),
    STR("\xe2\x82\xac"),
    STR("\xf0\x9f\x98\x80"),
    STR("\xed\xa0\xbd"),
    STR("\xed\xb8\x80"),
    STR("\xed\x9f\xbf"),
    STR("\xc0\xaf"),
    STR("\xc1\xbf"),
    STR("\xe0\x9f\xbf"),
    STR("\xe0\xa0\x80"),
    STR("\xf0\x8f\xbf\xbf"),
    STR("\xf0\x90\x80\x80"),
    STR("\xf4\x8f\xbf\xbf"),
    STR("\xf4\x90\x80\x80"),
    STR("\xf5\x80\x80\x80"),
    STR("\xff"),
    STR("\x80"),
    STR("\xbf\xbf"),
    STR("\xc3"),
    STR("\xe2\x82"),
    STR("\xf0\x9f\x98"),
    STR("\xe2"),
    STR("abcd0123"),
    STR("the quick brown fox"),
};

static size_t draw(uint64_t *n_drawn, size_t n)
{
    return rng_bits(7, (*n_drawn)++) % n;
}

/* Filling moves what follows to the edges of blocks, wherever the string began. */
static void add_random(Text *line, uint64_t *n_drawn)
{
    enum { MOST_FILLING = 140, EDGE_FROM = 58, EDGES = 9 };
    size_t kind = draw(n_drawn, 8), n = 1 + draw(n_drawn, 4);
    if (kind < 2) n = kind ? EDGE_FROM + draw(n_drawn, EDGES) : draw(n_drawn, MOST_FILLING);
    Str piece = pieces[draw(n_drawn, sizeof pieces / sizeof *pieces)];
    for (size_t i = 0; i < n; i++) {
        if (kind < 2)
            text_putc(line, 'x');
        else if (kind < 4) /* a run of one piece */
            text_add(line, piece.ptr, piece.len);
    }
    if (kind >= 4) text_add(line, piece.ptr, piece.len);
}

TEST(all_instruction_sets_give_the_same_verdict_reason_place_and_text)
{
    enum { LINES = 100000 };
    if (cpu_level_available() == CPU_SCALAR) skip();
    uint64_t n_drawn = 0;
    int64_t n_good = 0;
    Text line = { 0 };
    for (int i = 0; i < LINES; i++) {
        bool is_wrapped = draw(&n_drawn, 4) > 0;
        text_clear(&line);
        if (is_wrapped) text_puts(&line, i % 2 ? "{\"a\": \"" : "\"");
        for (size_t n = draw(&n_drawn, 7); n; n--) add_random(&line, &n_drawn);
        if (is_wrapped) text_puts(&line, i % 2 ? "\"}" : "\"");
        char *exact = malloc(line.len + 1); /* reading after it is noticed by sanitizers */
        memcpy(exact, line.ptr ? line.ptr : "", line.len);
        n_good += assert_same_everywhere((Str){ exact, line.len });
        free(exact);
    }
    assert_true(n_good > LINES / 10 && n_good < LINES - LINES / 10);
    text_free(&line);
}

/* Each piece at each place of a long string, alone and cut short. */
TEST(all_instruction_sets_agree_at_every_edge_of_a_block)
{
    if (cpu_level_available() == CPU_SCALAR) skip();
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
        for (size_t before = 0; before <= 140; before++)
            for (size_t behind = 0; behind <= 70; behind += 35) {
                Text line = { 0 };
                text_puts(&line, "{\"a\": \"");
                for (size_t i = 0; i < before; i++) text_putc(&line, 'x');
                text_add(&line, pieces[k].ptr, pieces[k].len);
                assert_same_everywhere((Str){ line.ptr, line.len });
                for (size_t i = 0; i < behind; i++) text_putc(&line, 'x');
                text_puts(&line, "\"}");
                assert_same_everywhere((Str){ line.ptr, line.len });
                text_free(&line);
            }
}
