/* test_pickle.c - pickles are data: plain values are read, everything else is refused by name. */
#include "checkpoint/objects.h"
#include "checkpoint/pickle.h"
#include "test.h"
#include <math.h>
#include <string.h>

static const char *const allowed[] = { "torch Size", "collections OrderedDict", NULL };

static Error *read_bytes(Arena *a, const char *bytes, size_t len, const Pickle **out)
{
    return pickle_read(a, "file", (Str){ bytes, len }, allowed, out);
}

static void assert_refused_bytes(const char *bytes, size_t len, const char *why)
{
    Arena *a = arena_new();
    const Pickle *p;
    assert_error_has(read_bytes(a, bytes, len, &p), why);
    arena_free(a);
}

#define BYTES(text) text, sizeof text - 1

/* pickle.dumps of an object whose __reduce__ gives os.system, in protocols 0, 2 and 4. */
TEST(a_pickle_with_os_system_in_it_is_refused_in_one_sentence)
{
    const char *why = "the pickle asks for posix.system; only tensors and plain values are read, "
                      "and no code is ever run: refused";
    assert_refused_bytes(BYTES("cposix\nsystem\np0\n(Vtouch x\np1\ntp2\nRp3\n."), why);
    assert_refused_bytes(
        BYTES("\x80\x02"
              "cposix\nsystem\nq\x00X\x07\x00\x00\x00touch xq\x01\x85q\x02Rq\x03."),
        why);
    assert_refused_bytes(BYTES("\x80\x04\x95\x22\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94"
                               "\x8c\x06system\x94\x93\x94\x8c\x07touch x\x94\x85\x94R\x94."),
                         why);
}

TEST(opcodes_that_plain_values_do_not_need_are_refused)
{
    assert_refused_bytes(BYTES("(iposix\nsystem\n."), "byte 1: opcode 0x69");
    assert_refused_bytes(BYTES("\x82\x01."), "byte 0: opcode 0x82");
    assert_refused_bytes(BYTES("\x80\x09."), "a later protocol than 5");
}

TEST(pickles_that_were_cut_short_are_refused)
{
    static const char whole[] = "\x80\x04}(\x8c\x01"
                                "aK\x07X\x01\x00\x00\x00"
                                "b]\x94(G?\xf0\x00\x00\x00\x00\x00\x00NeuN\x86.";
    Arena *a = arena_new();
    const Pickle *p;
    assert_no_error(read_bytes(a, BYTES(whole), &p));
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        char *part = arena_alloc(a, n + 1); /* the sanitizer sees what is read beyond */
        memcpy(part, whole, n);
        Error *e = read_bytes(a, part, n, &p);
        assert_non_null(e);
        error_free(e);
    }
    arena_free(a);
}

TEST(pickles_whose_stack_does_not_hold_what_they_take_are_refused)
{
    static const char *const broken[] = { ".",    "R.",   "b.",        "t.",      "a.",
                                          "s.",   "u.",   "e.",        "\x87.",   "(K\1a.",
                                          "h\5.", "q\1.", "]K\1K\2s.", "K\1K\2.", "(." };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_refused_bytes(broken[i], strlen(broken[i]), "byte ");
    assert_refused_bytes(BYTES("Nr\xff\xff\xff\xff."), "beyond the pickle's length");
    assert_refused_bytes(BYTES("\x8a\x09\1\1\1\1\1\1\1\1\1."), "more than 64 bits");
}

static void put_sample(PickleWriter *w, Arena *a)
{
    pickle_begin(w, PICKLE_DICT);
    pickle_put_text(w, str_of("numbers"));
    pickle_begin(w, PICKLE_LIST);
    static const int64_t ints[] = { 0,         255,          256,       65535,
                                    65536,     -1,           INT32_MAX, INT32_MIN,
                                    1LL << 40, -(1LL << 40), INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) pickle_put_int(w, ints[i]);
    pickle_put_float(w, 0.1);
    pickle_put_float(w, -INFINITY);
    pickle_finish(w, PICKLE_LIST);
    pickle_put_text(w, str_of("numbers "));
    pickle_put_bool(w, true);
    pickle_put_text(w, str_of("same"));
    pickle_put_text(w, str_of("numbers"));
    pickle_put_text(w, str_of("size"));
    Pickle *pair = pickle_of_kind(a, PICKLE_TUPLE);
    pickle_append(a, pair, pickle_of_kind(a, PICKLE_NONE));
    pickle_append(a, pair, pickle_of_bool(a, false));
    pickle_put(w, pair);
    pickle_finish(w, PICKLE_DICT);
}

TEST(what_is_written_in_either_protocol_is_read)
{
    Arena *a = arena_new();
    for (int protocol = 2; protocol <= 4; protocol += 2) {
        PickleWriter *w = pickle_writer(a, protocol);
        put_sample(w, a);
        Str bytes = pickle_end(w);
        const Pickle *p = NULL;
        assert_no_error(read_bytes(a, bytes.ptr, bytes.len, &p));
        Text json = { 0 };
        assert_no_error(pickle_json(p, &json));
        assert_string_equal(
            json.ptr,
            "{\"numbers\": [0, 255, 256, 65535, 65536, -1, 2147483647, -2147483648, 1099511627776, "
            "-1099511627776, 9223372036854775807, -9223372036854775808, 0.1, {\"float\": "
            "\"-inf\"}], \"numbers \": true, \"same\": \"numbers\", \"size\": {\"tuple\": [null, "
            "false]}}");
        text_free(&json);
    }
    arena_free(a);
}

/* The objects of a checkpoint with hundreds of layers make one long text. */
TEST(a_plain_value_is_put_at_the_end_of_a_text_of_any_length)
{
    enum { BYTES_BEFORE = 9 << 20 };
    Arena *a = arena_new();
    const Pickle *p = NULL;
    Text json = { 0 };
    for (int64_t i = 0; i < BYTES_BEFORE; i++) text_putc(&json, ' ');
    assert_no_error(read_bytes(a, BYTES("]K\1a."), &p));
    assert_no_error(pickle_json(p, &json));
    assert_string_equal(json.ptr + BYTES_BEFORE, "[1]");
    text_free(&json);
    arena_free(a);
}

TEST(a_list_that_holds_itself_or_many_is_no_plain_value)
{
    Arena *a = arena_new();
    const Pickle *p = NULL;
    Text json = { 0 };
    assert_no_error(read_bytes(a, BYTES("]q\1h\1a."), &p));
    assert_error_has(pickle_json(p, &json), "too deeply or often");
    text_clear(&json);
    Text bomb = { 0 }; /* each list holds the one before it twice */
    text_puts(&bomb, "(]q\1");
    for (char i = 1; i < 60; i++) text_printf(&bomb, "](h%ch%ceq%c", i, i, i + 1);
    text_puts(&bomb, "t.");
    assert_no_error(read_bytes(a, bomb.ptr, bomb.len, &p));
    assert_error_has(pickle_json(p, &json), "too deeply or often");
    text_free(&bomb);
    text_free(&json);
    arena_free(a);
}

TEST(objects_keep_their_values_through_json)
{
    Arena *a = arena_new();
    Pickle *path = pickle_of_kind(a, PICKLE_TUPLE), *value = pickle_of_kind(a, PICKLE_TUPLE);
    pickle_append(a, path, pickle_of_text(a, "app"));
    pickle_append(a, path, pickle_of_int(a, 3));
    pickle_append(a, value, pickle_of_float(a, 1));
    pickle_append(a, value, pickle_of_float(a, NAN));
    pickle_append(a, value, pickle_of_int(a, 1));
    Pickle *dict = pickle_of_kind(a, PICKLE_DICT);
    pickle_append(a, dict, pickle_of_text(a, "key"));
    pickle_append(a, dict, pickle_of_text(a, "content"));
    pickle_append(a, value, dict);
    const CheckpointObject o = { .name = "app.3", .path = path, .value = value };
    Text once = { 0 }, twice = { 0 };
    objects_print(&o, 1, &once);
    json_t *json = json_loads(once.ptr, 0, NULL);
    CheckpointObject *back;
    int64_t n;
    assert_no_error(objects_read(a, json, &back, &n));
    objects_print(back, n, &twice);
    assert_string_equal(once.ptr, twice.ptr);
    assert_string_equal(back->name, "app.3");
    assert_int_equal(back->value->item[0]->kind, PICKLE_FLOAT);
    assert_int_equal(back->value->item[2]->kind, PICKLE_INT);
    assert_int_equal(back->value->item[3]->n, 2);
    assert_contains(twice.ptr, "{\"key\": \"content\"}");
    json_decref(json);
    text_free(&once);
    text_free(&twice);
    arena_free(a);
}
