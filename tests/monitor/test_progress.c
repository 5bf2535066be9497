/* test_progress.c - the live display and the plain lines, from events with given times. */
#include "monitor/results.h"
#include "monitor/subscribers.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const evaluation_tags[] = { "val" };
static const ProgressSettings settings = { .train_tag = "train",
                                           .n_seen_steps = 100,
                                           .n_target_steps = 400,
                                           .n_evaluations = 1,
                                           .evaluation_tag = evaluation_tags };

/* 1000 tokens per step; the loss falls by 0.01 per step. */
static Event trained(int64_t done, double seconds)
{
    return (Event){ .kind = EVENT_PROGRESS,
                    .seconds = seconds,
                    .progress = { .tag = "train",
                                  .done = done,
                                  .tokens = done * 1000,
                                  .loss = done > 100 ? 6 - (double)done / 100 : NAN,
                                  .lr = done > 100 ? 5e-4 : NAN,
                                  .grad_norm = done > 100 ? 0.814 : NAN } };
}

static Event evaluated(int64_t done, double seconds)
{
    return (
        Event){ .kind = EVENT_PROGRESS,
                .seconds = seconds,
                .progress = { .tag = "val", .is_evaluation = true, .done = done, .total = 40 } };
}

typedef struct Screen {
    Arena *a;
    char *text;
    size_t len;
    FILE *to;
    Subscriber *display;
} Screen;

static void open_screen(Screen *s, bool is_live, bool is_utf8)
{
    s->a = arena_new();
    s->to = open_memstream(&s->text, &s->len);
    const ProgressOutput output = {
        .to = s->to, .is_live = is_live, .is_utf8 = is_utf8, .width = 80
    };
    s->display = progress_display(s->a, &settings, &output);
}

static void close_screen(Screen *s)
{
    fclose(s->to);
    free(s->text);
    arena_free(s->a);
}

static void send(Screen *s, Event e)
{
    assert_no_error(s->display->on_event(s->display, &e));
}

/* What was drawn last: the text after the last erasure. */
static const char *last_drawn(const Screen *s)
{
    const char *at = s->text, *found = NULL;
    while ((at = strstr(at, "\r\033[J"))) found = at += 4;
    assert_non_null(found);
    return found;
}

TEST(the_live_display_shows_bar_numbers_rate_and_time_left)
{
    Screen s;
    open_screen(&s, true, false);
    send(&s, trained(100, 50));
    send(&s, trained(101, 52));
    send(&s, trained(200, 150));
    assert_string_equal(
        last_drawn(&s),
        "train [####################....................] 200/400   50 %  ETA 3 min 20 s\n"
        "loss 4.0000  lr 5.00e-04  norm 0.81  1.00k tokens/s  \r\033[1A");
    close_screen(&s);
}

TEST(the_live_display_redraws_at_most_ten_times_a_second_and_at_the_end)
{
    Screen s;
    open_screen(&s, true, false);
    send(&s, trained(100, 50));
    size_t len = s.len;
    for (int i = 1; i < 100; i++) send(&s, trained(100 + i, 50 + i * 0.001));
    assert_true(s.len == len);
    send(&s, trained(400, 50.0999));
    assert_true(s.len > len);
    assert_contains(last_drawn(&s), "400/400  100 %\n");
    close_screen(&s);
}

TEST(an_evaluation_has_a_bar_and_leaves_its_loss)
{
    Screen s;
    open_screen(&s, true, true);
    send(&s, trained(100, 50));
    send(&s, trained(200, 150));
    send(&s, evaluated(0, 151));
    send(&s, evaluated(10, 156));
    assert_contains(
        last_drawn(&s),
        "\nval   [██████████······························] 10/40   25 %  ETA 15.0 s\r");
    send(&s, evaluated(40, 253));
    Results r = evaluation_results("val", 200, "CLMCrossEntropyLoss", 3.25, 10);
    send(&s, (Event){ .kind = EVENT_RESULTS, .seconds = 253, .results = &r });
    send(&s, trained(201, 254)); /* the rate is that of training, whatever the evaluation took */
    assert_contains(last_drawn(&s), " 1.00k tokens/s  val loss 3.2500 at 200\r");
    close_screen(&s);
}

TEST(live_lines_never_exceed_the_width)
{
    Screen s;
    open_screen(&s, true, true);
    Results r = evaluation_results("val", 200, "CLMCrossEntropyLoss", -1e200, 10);
    send(&s, trained(100, 50));
    send(&s, (Event){ .kind = EVENT_RESULTS, .seconds = 51, .results = &r });
    send(&s, trained(399, 60));
    int columns = 0;
    for (const char *p = last_drawn(&s); *p && *p != '\r'; p++) {
        columns = *p == '\n' ? 0 : columns + (((unsigned char)*p >> 6) != 2);
        assert_true(columns < 80);
    }
    close_screen(&s);
}

TEST(closing_leaves_the_last_state_and_goes_below_it)
{
    Screen s;
    open_screen(&s, true, false);
    send(&s, trained(100, 50));
    send(&s, trained(101, 50.01)); /* too soon to be drawn */
    assert_no_error(s.display->close(s.display));
    assert_contains(last_drawn(&s), " 101/400 ");
    assert_string_equal(s.text + s.len - 6, "\033[1A\n\n");
    close_screen(&s);
}

TEST(plain_lines_come_after_the_first_step_then_by_time_and_at_the_end)
{
    Screen s;
    open_screen(&s, false, false);
    send(&s, trained(100, 1000));
    for (int i = 1; i <= 300; i++) { /* two microbatches of 50 ms per step */
        if (i > 1) send(&s, trained(100 + i - 1, 1000 + i * 0.1 - 0.05));
        send(&s, trained(100 + i, 1000 + i * 0.1));
        if (i == 150) send(&s, evaluated(40, 1015.01));
    }
    assert_string_equal(
        s.text,
        "train 101/400 (25 %)  loss 4.9900  lr 5.00e-04  grad norm 0.81  10.0k tokens/s  ETA 29.9 "
        "s\n"
        "train 201/400 (50 %)  loss 3.9900  lr 5.00e-04  grad norm 0.81  10.0k tokens/s  ETA 19.9 "
        "s\n"
        "train 301/400 (75 %)  loss 2.9900  lr 5.00e-04  grad norm 0.81  10.0k tokens/s  ETA 9.9 "
        "s\n"
        "train 400/400 (100 %)  loss 2.0000  lr 5.00e-04  grad norm 0.81  10.0k tokens/s\n");
    close_screen(&s);
}

TEST(a_long_evaluation_has_plain_lines_and_a_short_one_none)
{
    Screen s;
    open_screen(&s, false, false);
    send(&s, trained(100, 1000));
    send(&s, trained(101, 1001));
    for (int i = 0; i <= 40; i++) send(&s, evaluated(i, 1001 + i * 0.2));
    send(&s, trained(102, 1010));
    for (int i = 0; i <= 40; i++) send(&s, evaluated(i, 1010 + i * 0.6));
    assert_string_equal(strchr(s.text, '\n') + 1, "evaluation val 17/40 (42 %)  ETA 13.8 s\n"
                                                  "evaluation val 34/40 (85 %)  ETA 3.6 s\n");
    close_screen(&s);
}

/* Steps of `pause` seconds with results every `every` steps; the lines there were. */
static const char *lines_beside_results(Screen *s, double pause, int every)
{
    s->a = arena_new();
    s->to = open_memstream(&s->text, &s->len);
    const ProgressOutput output = { .to = s->to, .beside_results = true, .width = 80 };
    s->display = progress_display(s->a, &settings, &output);
    send(s, trained(100, 1000));
    for (int i = 1; i <= 300; i++) {
        Results r = { .tag = "train", .step = 100 + i };
        if (i % every == 0)
            send(s, (Event){ .kind = EVENT_RESULTS, .seconds = 1000 + i * pause, .results = &r });
        send(s, trained(100 + i, 1000 + i * pause));
    }
    fflush(s->to);
    return s->text;
}

TEST(plain_lines_fill_only_the_gaps_between_lines_of_results_in_the_same_place)
{
    Screen s;
    assert_string_equal(lines_beside_results(&s, 0.1, 1), "");
    close_screen(&s);
    const char *text = lines_beside_results(&s, 0.1, 150);
    assert_contains(text, "train 101/400 "); /* the first one, then 10 s later */
    assert_contains(text, "\ntrain 201/400 ");
    assert_contains(text, "\ntrain 350/400 "); /* 10 s after the results of step 250 */
    assert_null(strstr(text, "train 400/400"));
    int n = 0;
    for (const char *p = text; *p; p++) n += *p == '\n';
    assert_int_equal(n, 3);
    close_screen(&s);
}

TEST(rates_follow_the_last_half_minute)
{
    Screen s;
    open_screen(&s, false, false);
    send(&s, trained(100, 1000));
    for (int i = 1; i <= 50; i++) send(&s, trained(100 + i, 1000 + i));         /* 1 step/s */
    for (int i = 1; i <= 240; i++) send(&s, trained(150 + i, 1050 + i * 0.25)); /* 4 steps/s */
    const char *last = strstr(s.text, "train 35");
    assert_non_null(last);
    assert_contains(last, " 4.00k tokens/s");
    close_screen(&s);
}

TEST(progress_of_an_unknown_loader_is_an_error)
{
    Screen s;
    open_screen(&s, false, false);
    Event e = trained(100, 1);
    e.progress.tag = "training";
    assert_error_has(s.display->on_event(s.display, &e),
                     "\"training\", but train_dataloader_tag is \"train\"");
    e = evaluated(1, 1);
    e.progress.tag = "test";
    assert_error_has(s.display->on_event(s.display, &e), "\"test\" is not among eval_dataloaders");
    close_screen(&s);
}
