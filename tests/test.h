/* test.h - TEST(a_sentence_as_name) { ... } registers itself; assertions are cmocka's. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

typedef struct TestCase {
    struct TestCase *next;
    const char *name, *file;
    void (*run)(void);
    const char *device; /* MODALITIES_DEVICE while it runs; NULL: as it is */
} TestCase;

void test_register(TestCase *t);

#define TEST(test_name)                                                                            \
    static void test_name(void);                                                                   \
    __attribute__((constructor)) static void register_##test_name(void)                            \
    {                                                                                              \
        static TestCase t = { .name = #test_name, .file = __FILE__, .run = test_name };            \
        test_register(&t);                                                                         \
    }                                                                                              \
    static void test_name(void)

/* Below a test: it runs a second time on the device that shows what a GPU would not forgive. */
#define FENCED(test_name)                                                                          \
    __attribute__((constructor)) static void register_fenced_##test_name(void)                     \
    {                                                                                              \
        static TestCase t = { .name = #test_name "_on_the_fenced_device",                          \
                              .file = __FILE__,                                                    \
                              .run = test_name,                                                    \
                              .device = "fenced" };                                                \
        test_register(&t);                                                                         \
    }

/* Ends the test as skipped; the reason is printed. */
_Noreturn void test_skip(const char *reason);
/* Printed beside the test's name even when it passes; the last note counts. */
void test_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* How many of `n` cases to run: under a sanitizer a tenth, which a note says. */
int64_t test_share(int64_t n);
/* Skips unless ../shared exists; returns its path joined with `below`, owned by the arena. Never
 * skips when the folder is there. */
const char *shared_path(Arena *a, const char *below);
/* A folder of this test's own that is removed when the test ends. */
const char *test_folder(void);
/* The program under test (build/modalities). */
const char *program_path(void);
/* A file that was built beside the tests, such as crash_shim.so; owned by the arena. */
const char *test_tool(Arena *a, const char *name);
/* Fails the test with the error's text; frees it. */
void assert_no_error(Error *e);
/* Asserts that e is an error whose text contains `part`; frees it. */
void assert_error_has(Error *e, const char *part);
/* Asserts that `text` contains `part`. */
void assert_contains(const char *text, const char *part);
/* |a - b| <= tolerance; a NaN on either side fails. */
void assert_close(double a, double b, double tolerance);
#endif
