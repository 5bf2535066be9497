/* test_fenced.c - the device that shows what a GPU would not forgive does so, and computes what the
 * CPU computes. */
#include "exec/program.h"
#include "passes/tiny_model.h"
#include "test.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(memory_of_the_fenced_device_is_out_of_reach)
{
    Device *d = fenced_device_new(1);
    void *p;
    assert_no_error(d->alloc(d, 100, &p));
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        _exit(((volatile char *)p)[7]);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    d->release(d, p, 100);
    d->free(d);
}

TEST(work_of_the_fenced_device_is_done_when_it_is_waited_for)
{
    Device *d = fenced_device_new(1);
    Stream *s;
    void *p;
    char from[8] = "before", to[8] = "nothing";
    assert_no_error(d->alloc(d, 8, &p));
    assert_no_error(d->stream_new(d, false, &s));
    assert_no_error(d->copy(d, p, from, 8, s));
    memcpy(from, "after", 6);
    assert_no_error(d->copy(d, to, p, 8, s));
    assert_string_equal(to, "nothing");
    assert_no_error(d->synchronize(d, s));
    assert_string_equal(to, "after"); /* a buffer that was used again too early */
    assert_no_error(d->clear(d, p, 8, s));
    assert_no_error(device_copy_now(d, to, p, 8, s));
    assert_string_equal(to, "");
    d->stream_free(d, s);
    d->free(d);
}

TEST(streams_of_the_fenced_device_wait_for_marks)
{
    Device *d = fenced_device_new(1);
    Stream *one, *two;
    StreamMark written = { 0 };
    void *p;
    char first[8] = "first", second[8] = "second", to[8] = "";
    assert_no_error(d->alloc(d, 8, &p));
    assert_no_error(d->stream_new(d, false, &one));
    assert_no_error(d->stream_new(d, true, &two));
    assert_no_error(d->copy(d, p, first, 8, one));
    assert_no_error(d->mark(d, one, &written));
    assert_no_error(d->copy(d, p, second, 8, one));
    assert_no_error(d->wait(d, two, &written));
    assert_no_error(device_copy_now(d, to, p, 8, two));
    assert_string_equal(to, "first");
    assert_no_error(d->synchronize(d, one));
    assert_no_error(device_copy_now(d, to, p, 8, two));
    assert_string_equal(to, "second");
    d->stream_free(d, one);
    d->stream_free(d, two);
    d->free(d);
}

/* Nodes here and there on streams of their own; what needs them is to wait. */
static void spread(Graph *g)
{
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->phase != PREPARE) g->node[i]->stream = i % 5 == 1 ? 1 : i % 7 == 2 ? 2 : 0;
}

static TinyRun run_on(Device *d, void (*edit)(Graph *g), double *loss)
{
    Gpt2Settings s = tiny_settings(false);
    s.dropout = 0.25;
    TinyRun t =
        tiny_run_make(&(TinyChoice){ .settings = &s, .training = true, .edit = edit, .device = d });
    *loss = tiny_step(&t);
    return t;
}

static void check_same(void (*edit)(Graph *g))
{
    double loss, fenced_loss;
    TinyRun cpu = run_on(cpu_device_new(2), NULL, &loss),
            fenced = run_on(fenced_device_new(2), edit, &fenced_loss);
    assert_true(loss == fenced_loss && loss > 0);
    assert_true(tiny_gradient_difference(&cpu, &fenced) == 0);
    tiny_run_free(&cpu);
    tiny_run_free(&fenced);
}

TEST(the_fenced_device_gives_the_cpu_s_bits)
{
    check_same(NULL);
}
TEST(several_streams_give_the_bits_of_one)
{
    check_same(spread);
}

TEST(streams_beside_the_cpu_s_give_the_same_bits)
{
    double loss, spread_loss;
    TinyRun one = run_on(cpu_device_new(2), NULL, &loss),
            several = run_on(cpu_device_new(2), spread, &spread_loss);
    assert_true(loss == spread_loss && loss > 0);
    assert_true(tiny_gradient_difference(&one, &several) == 0);
    tiny_run_free(&one);
    tiny_run_free(&several);
}

static Error *(*really_synchronize)(Device *d, Stream *s);
static int n_synchronized;

static Error *count_synchronize(Device *d, Stream *s)
{
    n_synchronized++;
    return really_synchronize(d, s);
}

/* A step is a list of launches: the host gives all of it before it looks at anything. */
TEST(the_host_waits_for_nothing_between_the_actions_of_a_step)
{
    Action action[] = {
        { RUN_FORWARD, 0, 0 }, { RUN_FORWARD, 0, 1 }, { RUN_BACKWARD, 0, 0 }, { RUN_BACKWARD, 0, 1 }
    };
    const Schedule schedule = { .action = action, .n = 4 };
    Gpt2Settings s = tiny_settings(false);
    Device *d = fenced_device_new(2);
    really_synchronize = d->synchronize;
    d->synchronize = count_synchronize;
    TinyRun t = tiny_run_make(&(TinyChoice){
        .settings = &s, .schedule = &schedule, .training = true, .edit = spread, .device = d });
    for (int64_t m = 0; m < 2; m++) tiny_feed(&t, m);
    n_synchronized = 0;
    for (int i = 0; i < 4; i++) assert_no_error(program_run(t.program, &action[i], &t.now));
    assert_int_equal(n_synchronized, 0);
    assert_no_error(program_wait(t.program));
    assert_true(n_synchronized > 0);
    assert_true(program_scalar(t.program, "loss", 1) > 0);
    tiny_run_free(&t);
}

TEST(a_kernel_that_fails_late_is_named_all_the_same)
{
    Gpt2Settings s = tiny_settings(false);
    TinyRun t = tiny_run_make(&(TinyChoice){ .settings = &s, .device = fenced_device_new(2) });
    int32_t ids[12] = { 0, 1, 13 };
    assert_no_error(program_write(t.program, "input_ids", 0, ids));
    t.now.step = 4;
    assert_no_error(program_run(t.program, &(Action){ .phases = RUN_FORWARD }, &t.now));
    assert_error_has(program_wait(t.program),
                     "step 5, microbatch 0: embed (forward): an id or target lies outside of");
    tiny_feed(&t, 0);
    assert_true(tiny_step(&t) > 0); /* it goes on */
    tiny_run_free(&t);
}
