/* test_node_trace.c - the numbers of traces and tables, from nodes whose times are known. */
#include "test.h"
#include "watch/node_trace.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

/* Of no device: limits are not known. */
static NodeTrace *some_nodes(Arena *a)
{
    static TraceEntry entry[] = {
        { .op = "add", .module = "", .phase = FORWARD, .seconds = 0.004, .bytes = 1e6 },
        { .op = "contract",
          .module = "m.a",
          .phase = FORWARD,
          .seconds = 0.002,
          .bytes = 4e6,
          .flops = 8e9 },
        { .op = "contract",
          .module = "m.a",
          .phase = BACKWARD_INPUT,
          .seconds = 0.003,
          .bytes = 6e6,
          .flops = 12e9 },
        { .op = "contract",
          .module = "m.a",
          .phase = BACKWARD_WEIGHT,
          .seconds = 0.001,
          .bytes = 2e6,
          .flops = 4e9,
          .shapes = "[2, 3]" },
        { .op = "gather",
          .module = "m.b",
          .phase = FORWARD,
          .seconds = 0.01,
          .is_wait = true,
          .axes = "dp_shard",
          .ranks = 4 },
        { .op = "gather",
          .module = "m.b",
          .phase = FORWARD,
          .stream = 1,
          .seconds = 0,
          .bytes = 9,
          .axes = "dp_shard",
          .ranks = 4,
          .sent = 7,
          .peer = 3 },
    };
    NodeTrace *t = node_trace_new(a, true);
    t->rank = 2;
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        t->entry = arena_grow(a, t->entry, t->n, &t->cap, sizeof *t->entry);
        t->entry[t->n] = entry[i];
        t->entry[t->n].kernel = "k";
        t->entry[t->n].attrs = "{}";
        t->entry[t->n++].step = 5;
    }
    return t;
}

TEST(tables_of_nodes_are_their_sums_with_the_slowest_first)
{
    Arena *a = arena_new();
    Text t = { 0 };
    node_trace_tables(some_nodes(a), &t);
    static const char expected[] =
        "op                                          calls    time (ms)   share         MB       "
        "GB/s    GFLOP/s  of limit\n"
        "wait for gather                                 1       10.000   50.0%       0.00       "
        "0.00       0.00\n"
        "add (forward)                                   1        4.000   20.0%       1.00       "
        "0.25       0.00\n"
        "contract (backward)                             2        4.000   20.0%       8.00       "
        "2.00    4000.00\n"
        "contract (forward)                              1        2.000   10.0%       4.00       "
        "2.00    4000.00\n"
        "gather (forward)                                1        0.000    0.0%       0.00       "
        "0.00       0.00\n"
        "\n"
        "module                                      calls    time (ms)   share         MB       "
        "GB/s    GFLOP/s  of limit\n"
        "m.b                                             2       10.000   50.0%       0.00       "
        "0.00       0.00\n"
        "m.a                                             3        6.000   30.0%      12.00       "
        "2.00    4000.00\n"
        "(none)                                          1        4.000   20.0%       1.00       "
        "0.25       0.00\n";
    assert_string_equal(t.ptr, expected);
    text_free(&t);
    arena_free(a);
}

static const char *text_at(const json_t *args, const char *key)
{
    return json_string_value(json_object_get(args, key));
}

static double number_at(const json_t *args, const char *key)
{
    return json_number_value(json_object_get(args, key));
}

TEST(a_trace_tells_of_each_node_what_it_did)
{
    Arena *a = arena_new();
    json_error_t error;
    const char *path = path_join(a, test_folder(), "trace.json");
    assert_no_error(node_trace_write(some_nodes(a), path));
    json_t *trace = json_load_file(path, 0, &error),
           *events = json_object_get(trace, "traceEvents");
    assert_non_null(trace);
    const size_t first = json_array_size(events) - 6; /* behind the names */
    const json_t *last = json_array_get(events, first + 5),
                 *event = json_array_get(events, first + 3),
                 *wait = json_array_get(events, first + 4), *args = json_object_get(event, "args");
    assert_string_equal(text_at(event, "name"), "contract");
    assert_string_equal(text_at(event, "cat"), "kernel");
    assert_true(fabs(number_at(event, "dur") - 1000) < 1e-6); /* microseconds */
    assert_true(number_at(event, "pid") == 2 && number_at(event, "tid") == 0);
    assert_string_equal(text_at(args, "module"), "m.a");
    assert_string_equal(text_at(args, "phase"), phase_name(BACKWARD_WEIGHT));
    assert_true(number_at(args, "bytes") == 2e6 && number_at(args, "flops") == 4e9);
    assert_true(number_at(args, "GB/s") == 2 && number_at(args, "step") == 5);
    assert_null(json_object_get(args, "share of peak FLOP/s")); /* not known */
    assert_null(json_object_get(args, "share of peak GB/s"));
    assert_int_equal(json_array_size(json_object_get(args, "Input Dims")), 1);
    assert_string_equal(text_at(wait, "cat"), "wait");
    args = json_object_get(wait, "args");
    assert_string_equal(text_at(args, "for"), "gather");
    assert_string_equal(text_at(args, "mesh axis"), "dp_shard");
    assert_null(json_object_get(args, "bytes sent"));
    assert_string_equal(text_at(last, "cat"), "transfer");
    assert_true(number_at(last, "tid") == 1);
    args = json_object_get(last, "args");
    assert_true(number_at(args, "ranks") == 4 && number_at(args, "bytes sent") == 7);
    assert_true(number_at(args, "peer") == 3);
    assert_null(json_object_get(args, "GB/s")); /* without a time */
    json_decref(trace);
    arena_free(a);
}
