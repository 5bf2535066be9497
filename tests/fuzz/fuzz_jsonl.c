/* fuzz_jsonl.c - any bytes as a line of JSON: what the scanner accepts libjq reads, and both find
 * the same text, on every instruction set. */
#include "base/json_scan.h"
#include "data/text_query.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

/* libjq keeps no pointer to the beginning of its stack, so that the stacks of the queries that stay
 * look lost. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:jv_mem_realloc\n";
}

/* libjq reads less deeply nested values than the scanner. */
enum { JQ_DEPTH = 256 };

static bool is_deep(const uint8_t *data, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) n += data[i] == '[' || data[i] == '{';
    return n > JQ_DEPTH;
}

static void compare(Str line, TextQuery *fast, TextQuery *slow)
{
    Text x = { 0 }, y = { 0 };
    int64_t x_column, y_column;
    Error *x_error = text_query_run(fast, line, &x, &x_column),
          *y_error = text_query_run(slow, line, &y, &y_column);
    CHECK(!x_error == !y_error);
    CHECK(x_column == y_column);
    if (!x_error) CHECK(x.len == y.len && (!x.len || !memcmp(x.ptr, y.ptr, x.len)));
    error_free(x_error);
    error_free(y_error);
    text_free(&x);
    text_free(&y);
}

/* All instruction sets against the plain scanner: verdict, reason, place, text. */
static void compare_levels(Str line, CpuLevel level)
{
    for (int policy = SURROGATES_PASS; policy <= SURROGATES_FAIL; policy++) {
        JsonFault x = { -1, "" }, y = { -1, "" };
        CHECK(json_check_at(CPU_SCALAR, line, (SurrogatePolicy)policy, &x) ==
              json_check_at(level, line, (SurrogatePolicy)policy, &y));
        CHECK(x.offset == y.offset && !strcmp(x.reason, y.reason));
    }
    const Str key = str_of("a");
    Text x = { 0 }, y = { 0 };
    JsonFound x_found, y_found;
    JsonFault x_fault = { -1, "" }, y_fault = { -1, "" };
    bool ok = json_find_at(CPU_SCALAR, line, &key, 1, &x, &x_found, &x_fault);
    CHECK(ok == json_find_at(level, line, &key, 1, &y, &y_found, &y_fault));
    CHECK(x_fault.offset == y_fault.offset && !strcmp(x_fault.reason, y_fault.reason));
    if (ok) CHECK(x_found.kind == y_found.kind && x_found.depth == y_found.depth);
    if (ok) CHECK(str_equal((Str){ x.ptr, x.len }, (Str){ y.ptr, y.len }));
    text_free(&x);
    text_free(&y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static TextQuery *fast[2], *slow[2]; /* compiling takes long */
    if (!fast[0]) {
        CHECK(!text_query_new(".text", &fast[0]) && !text_query_new("(.text)", &slow[0]));
        CHECK(!text_query_new(".a.b", &fast[1]) && !text_query_new("(.a.b)", &slow[1]));
    }
    char *line = malloc(size ? size : 1); /* of exactly this size: reading on is noticed */
    if (size) memcpy(line, data, size);
    JsonFault fault = { -1, NULL };
    bool strict = json_check((Str){ line, size }, SURROGATES_FAIL, &fault);
    CHECK(strict || (fault.offset >= 0 && fault.offset <= (int64_t)size && fault.reason));
    CHECK(!strict || json_check((Str){ line, size }, SURROGATES_PASS, &fault));
    for (CpuLevel level = CPU_AVX2; level <= cpu_level_available(); level++)
        compare_levels((Str){ line, size }, level);
    for (int i = 0; i < 2 && !is_deep(data, size); i++)
        compare((Str){ line, size }, fast[i], slow[i]);
    free(line);
    return 0;
}
