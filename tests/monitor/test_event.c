/* test_event.c - the fan-out, and the console. */
#include "monitor/event.h"
#include "monitor/results.h"
#include "monitor/subscribers.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

typedef struct Recorder {
    Subscriber base;
    int n_events, n_closed;
    double seconds;
    const char *fails;
} Recorder;

static Error *record(Subscriber *self, const Event *event)
{
    Recorder *r = (Recorder *)self;
    r->n_events++;
    r->seconds = event->seconds;
    return r->fails ? error_new("%s", r->fails) : NULL;
}

static Error *record_close(Subscriber *self)
{
    ((Recorder *)self)->n_closed++;
    return NULL;
}

TEST(every_subscriber_gets_the_event_even_if_another_fails)
{
    Recorder one = { .base = { .on_event = record, .close = record_close }, .fails = "disk full" };
    Recorder two = { .base = { .on_event = record }, .fails = "no space" };
    Recorder three = { .base = { .on_event = record, .close = record_close } };
    Events events = { 0 };
    events_subscribe(&events, &one.base);
    events_subscribe(&events, &two.base);
    events_subscribe(&events, &three.base);
    Error *e = events_publish(&events, (Event){ .kind = EVENT_NOTICE, .text = "hello" });
    assert_non_null(e);
    assert_string_equal(error_text(e), "disk full\nno space");
    error_free(e);
    assert_int_equal(three.n_events, 1);
    assert_true(three.seconds > 0);
    error_free(events_publish(&events, (Event){ .kind = EVENT_NOTICE, .seconds = 12, .text = "" }));
    assert_true(three.seconds == 12);
    assert_no_error(events_close(&events));
    assert_int_equal(one.n_closed + three.n_closed, 2);
    assert_int_equal(events.n, 0);
}

/* Runs the event through a console whose stdout and stderr are files; their text is the arena's. */
static void print_event(Arena *a, Event e, Str out[2])
{
    Subscriber *console = console_subscriber(a);
    int saved[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        saved[i] = dup(i + 1);
        int fd = open(path_join(a, test_folder(), i ? "err" : "out"), O_CREAT | O_TRUNC | O_WRONLY,
                      0600);
        assert_true(fd >= 0 && dup2(fd, i + 1) >= 0);
        close(fd);
    }
    Error *failed = console->on_event(console, &e);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    assert_no_error(failed);
    for (int i = 0; i < 2; i++)
        assert_no_error(file_read(a, path_join(a, test_folder(), i ? "err" : "out"), &out[i]));
}

TEST(training_lines_go_to_stdout_and_everything_else_to_stderr)
{
    Arena *a = arena_new();
    Str out[2];
    const TrainingNumbers numbers = { .tag = "train", .step = 7, .loss_avg = 1.25, .mfu = -1 };
    Results r = training_results(&numbers);
    print_event(a, (Event){ .kind = EVENT_RESULTS, .results = &r }, out);
    assert_true(text_matches(
        "20\?\?-\?\?-\?\?T\?\?:\?\?:\?\? | step: 7 | train samples/s: 0.0 | train mfu (16-bit): "
        "-1.0 | lr mean: 0.0 | *| train loss avg: 1.25 | * | \n",
        out[0].ptr));
    assert_int_equal(out[1].len, 0);

    r = evaluation_results("val", 7, "CLMCrossEntropyLoss", 2.5, 4.25);
    print_event(a, (Event){ .kind = EVENT_RESULTS, .results = &r }, out);
    assert_int_equal(out[0].len, 0);
    assert_string_equal(out[1].ptr, "val | step: 7 | evaluation_num_samples_per_second: 4.2 | "
                                    "CLMCrossEntropyLoss: 2.5 |  | \n");

    print_event(a, (Event){ .kind = EVENT_CHECKPOINT, .text = "exp/eid_x" }, out);
    assert_int_equal(out[0].len, 0);
    assert_string_equal(out[1].ptr, "checkpoint saved: exp/eid_x\n");
    arena_free(a);
}
