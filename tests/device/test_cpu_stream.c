/* test_cpu_stream.c - streams beside the caller's: order, waits, failures. */
#include "base/error.h"
#include "device/device.h"
#include "test.h"
#include <stdatomic.h>
#include <time.h>

/* What a kernel of these tests works on: in scratch. */
typedef struct Note {
    atomic_int *clock; /* counts kernels */
    int at;            /* its turn */
    int milliseconds;
    int status;
} Note;

static int take_turn(const Launch *l)
{
    Note *n = l->scratch;
    nanosleep(&(struct timespec){ .tv_nsec = n->milliseconds * 1000000L }, NULL);
    n->at = atomic_fetch_add(n->clock, 1) + 1;
    return n->status;
}

typedef struct Streams {
    Device *device;
    Stream *own, *one, *two;
    atomic_int clock;
} Streams;

static void setup(Streams *s)
{
    *s = (Streams){ .device = cpu_device_new(1) };
    assert_no_error(s->device->stream_new(s->device, false, &s->own));
    assert_no_error(s->device->stream_new(s->device, true, &s->one));
    assert_no_error(s->device->stream_new(s->device, true, &s->two));
}

static void teardown(Streams *s)
{
    s->device->stream_free(s->device, s->own);
    s->device->stream_free(s->device, s->one);
    s->device->stream_free(s->device, s->two);
    s->device->free(s->device);
}

static Launch launch_of(Note *n, Stream *s)
{
    return (Launch){ .scratch = n, .stream = s };
}

TEST(work_beside_the_caller_is_done_in_the_order_of_marks)
{
    enum { N = 300 };
    Streams s;
    setup(&s);
    Device *d = s.device;
    Note note[N];
    Launch l[N];
    for (int i = 0; i < N;
         i++) { /* to and fro between two threads, more than a queue begins with */
        Stream *now = i % 2 ? s.two : s.one, *next = i % 2 ? s.one : s.two;
        note[i] = (Note){ .clock = &s.clock, .milliseconds = i < 3 ? 20 : 0 };
        l[i] = launch_of(&note[i], now);
        assert_int_equal(d->launch(d, take_turn, &l[i]), KERNEL_OK);
        StreamMark m = { 0 };
        assert_no_error(d->mark(d, now, &m));
        assert_no_error(d->wait(d, next, &m));
        d->mark_free(d, &m);
    }
    StreamMark end = { 0 };
    assert_no_error(d->mark(d, s.two, &end));
    assert_no_error(d->wait(d, s.own, &end)); /* the caller is its own stream */
    for (int i = 0; i < N; i++) assert_int_equal(note[i].at, i + 1);
    teardown(&s);
}

TEST(the_caller_goes_on_while_a_stream_beside_it_works)
{
    Streams s;
    setup(&s);
    Device *d = s.device;
    Note late = { .clock = &s.clock, .milliseconds = 200 }, early = { .clock = &s.clock };
    Launch slow = launch_of(&late, s.one), fast = launch_of(&early, s.own);
    assert_int_equal(d->launch(d, take_turn, &slow), KERNEL_OK);
    assert_int_equal(d->launch(d, take_turn, &fast), KERNEL_OK);
    assert_int_equal(early.at, 1);
    assert_no_error(d->synchronize(d, s.one));
    assert_int_equal(late.at, 2);
    char from[6] = "bytes", to[6] = "";
    assert_no_error(d->copy(d, to, from, 6, s.one));
    assert_no_error(d->synchronize(d, s.one));
    assert_string_equal(to, "bytes");
    assert_no_error(d->clear(d, to, 6, s.one));
    assert_no_error(d->synchronize(d, s.one));
    assert_string_equal(to, "");
    teardown(&s);
}

TEST(nothing_follows_a_kernel_that_failed_beside_the_caller)
{
    Streams s;
    setup(&s);
    Device *d = s.device;
    Note bad = { .clock = &s.clock, .status = 7 }, never = { .clock = &s.clock },
         again = { .clock = &s.clock };
    Launch first = launch_of(&bad, s.one), second = launch_of(&never, s.one),
           third = launch_of(&again, s.one);
    assert_int_equal(d->launch(d, take_turn, &first), KERNEL_OK);
    assert_int_equal(d->launch(d, take_turn, &second), KERNEL_OK);
    assert_no_error(d->synchronize(d, s.one));
    assert_ptr_equal(s.one->failed, &first);
    assert_int_equal(s.one->status, 7);
    assert_int_equal(never.at, 0);
    s.one->failed = NULL;
    assert_int_equal(d->launch(d, take_turn, &third), KERNEL_OK);
    assert_no_error(d->synchronize(d, s.one));
    assert_int_equal(again.at, 2);
    teardown(&s);
}
