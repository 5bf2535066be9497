/* test_jq.c - expressions see what they are given alone, and whatever libjq does wrong ends as an
 * error. */
#include "data/jsonl.h"
#include "data/pack.h"
#include "data/packed_file.h"
#include "data/text_query.h"
#include "data/toy_tokenizer.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
enum { IS_LIMITED = 0, GETS_SIGNALS = 1 }; /* its shadow needs more addresses */
#elif defined __SANITIZE_THREAD__
enum { IS_LIMITED = 0, GETS_SIGNALS = 0 }; /* handlers wait for a call that it knows */
#else
enum { IS_LIMITED = 1, GETS_SIGNALS = 1 };
#endif
static const rlim_t LIMIT = (rlim_t)4 << 30;

static void assert_finds(const char *pattern, const char *expected)
{
    TextQuery *q;
    Text out = { 0 };
    int64_t column;
    assert_no_error(text_query_new(pattern, &q));
    assert_no_error(text_query_run(
        q, str_of("{\"text\": \"t\", \"input\": \"i\", \"inputs\": \"s\", \"env\": \"e\"}"), &out,
        &column));
    assert_string_equal(out.ptr, expected);
    text_free(&out);
    text_query_free(q);
}

static void assert_refuses(const char *pattern, const char *what)
{
    TextQuery *q;
    Arena *a = arena_new();
    assert_error_has(text_query_new(pattern, &q),
                     arena_printf(a, "jq_pattern '%s': '%s' is not allowed", pattern, what));
    arena_free(a);
}

TEST(an_expression_sees_no_module_no_input_and_no_environment)
{
    assert_refuses("input", "input");
    assert_refuses("try input catch .text", "input");
    assert_refuses("[inputs] | tostring", "inputs");
    assert_refuses("env.HOME", "env");
    assert_refuses("$ENV.HOME", "$ENV");
    assert_refuses("$ ENV | .HOME", "$ENV");
    assert_refuses("\"a \\(1, ($ENV.HOME)) b\"", "$ENV");
    assert_refuses("{$ENV} | tostring", "$ENV");
    assert_refuses("import \"a\" as a; .text", "import");
    assert_refuses("include \"a\"; .text", "include");
    assert_refuses("# of mine\n import \"a\" as $a; .text", "import");
    assert_refuses("module {}; .text", "module");
    assert_refuses("\"a\" | modulemeta", "modulemeta");
    assert_refuses("input_filename", "input_filename");
}

TEST(names_that_only_look_like_what_is_refused_are_allowed)
{
    assert_finds(".input|.", "i");
    assert_finds(".inputs|.", "s");
    assert_finds(".env|.", "e");
    assert_finds(".[\"env\"]", "e");
    assert_finds("\"input\"", "input");
    assert_finds("\"$ENV\"", "$ENV");
    assert_finds("\"a\" # $ENV, input", "a");
    assert_finds("\"\\(.text) $ENV \\(\")\")\"", "t $ENV )");
    assert_finds("def input: \"mine\"; input", "mine");
    assert_finds("def inputs: \"mine\"; inputs", "mine");
    assert_finds("def env: \"mine\"; env", "mine");
    assert_finds("def input(f): f; input(.text)", "t");
    assert_finds(". as $input | $input.text", "t");
    assert_finds("{input: 1, env: 2} | .env | tostring", "2");
    assert_finds(".import // .text", "t");
}

TEST(what_libjq_calls_back_for_is_there)
{
    assert_finds(".text|debug", "t");
    TextQuery *q;
    Text out = { 0 };
    int64_t column;
    assert_no_error(text_query_new("\"x\" | halt_error", &q));
    assert_error_has(text_query_run(q, str_of("{}"), &out, &column), "the expression halts");
    text_query_free(q);
    text_free(&out);
}

/* ---- memory ---- */

/* Packs lines of which the last but one needs more memory than there is; in a process of its own.
 * The threads are several, and the one that lost libjq goes on. */
static int pack_within_limit(Arena *a)
{
    enum { N = 400 };
    Text lines = { 0 };
    for (int i = 1; i <= N; i++) text_printf(&lines, "{\"text\": \"line\", \"n\": %d}\n", i);
    const char *path = path_join(a, test_folder(), "lines.jsonl");
    IndexSummary index;
    PackSummary summary;
    PackSettings s = { .src_path = path,
                       .dst_path = path_with_suffix(a, path, ".pbin"),
                       .jq_pattern = "if .n % 200 == 199 then null | setpath([500000000]; 1) else "
                                     ".text end",
                       .eod_token = "<eod>",
                       .num_cpus = 4,
                       .processing_batch_size = 10,
                       .raw_samples_queue_size = 10,
                       .processed_samples_queue_size = 10 };
    Tokenizer toy = toy_tokenizer(256);
    assert_no_error(file_write(path, lines.ptr, lines.len));
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), NULL, &index));
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){ LIMIT, LIMIT }), 0);
    Error *e = pack_jsonl(&s, &toy, &summary);
    if (!e || !strstr(error_text(e), "lines.jsonl:199:") ||
        !strstr(error_text(e), "libjq has not enough memory"))
        return 1;
    s.on_bad_line = BAD_LINE_SKIP;
    e = pack_jsonl(&s, &toy, &summary);
    return e || summary.n_bad != 2 || summary.n_documents != N - 2;
}

TEST(a_line_that_needs_more_memory_than_there_is_is_named)
{
    if (!IS_LIMITED) return;
    Arena *a = arena_new();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(pack_within_limit(a));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    arena_free(a);
}

/* ---- crashes, and what does not come back ---- */

/* Filters a small file by an expression; `prefix` may limit or kill the program. */
static int filter(Arena *a, const char *prefix, const char *expression, const char **said)
{
    static const int64_t length[] = { 1, 1, 1 };
    const char *log = path_join(a, test_folder(), "said");
    packed_file(a, "in.pbin", 1, 'a', length, 3);
    int status =
        system(arena_printf(a,
                            "cd %s && %s %s data filter in.pbin out.pbin --jq '%s' > "
                            "said 2>&1",
                            test_folder(), prefix, path_absolute(a, program_path()), expression));
    Str text;
    assert_no_error(file_read(a, log, &text));
    *said = text.ptr;
    assert_false(file_exists(path_join(a, test_folder(), "out.pbin")));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_fails(const char *prefix, const char *expression)
{
    Arena *a = arena_new();
    const char *said;
    int status = filter(a, prefix, expression, &said);
    assert_contains(said, arena_printf(a, "--jq '%s': libjq fails on document ", expression));
    assert_int_equal(status, 1);
    arena_free(a);
}

TEST(a_crash_of_libjq_is_an_error_that_names_the_document)
{
    assert_fails("", "-9223372036854775808 % -1");                /* SIGFPE */
    assert_fails("", "1e18 | todate");                            /* an assertion */
    assert_fails("", "reduce range(1000000) as $i (0; [.]) | 1"); /* the end of the stack */
    if (IS_LIMITED) assert_fails("ulimit -v 4194304;", "def f: def g: f; g; f");
}

TEST(an_expression_that_never_returns_ends_soon_after_a_stop)
{
    static const char *const endless[] = { "def f: f; f", "last(repeat(1))" };
    if (!GETS_SIGNALS) return;
    Arena *a = arena_new();
    /* `timeout` kills 5 seconds after the stop; its status is 124 only when it need not. On a busy
     * machine the first stop may come before the expression has begun. */
    static const char *const prefix[] = { "timeout -k 5 -s TERM 1", "timeout -k 5 -s TERM 8",
                                          "timeout -k 5 -s TERM 30" };
    for (int i = 0; i < 2; i++) {
        const char *said = "",
                   *why = arena_printf(a, "--jq '%s': libjq does not come back", endless[i]);
        for (int k = 0; k < 3 && !strstr(said, why); k++)
            assert_int_equal(filter(a, prefix[k], endless[i], &said), 124);
        assert_contains(said, why);
    }
    arena_free(a);
}
