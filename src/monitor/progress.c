/* progress.c - progress_subscriber.rich: a live display on a terminal, plain lines elsewhere.
 *
 * Live, two lines on stderr are redrawn in place (terminal.h says how other output joins in):
 *
 *   train [#########.....................]  120/400   30 %  ETA 12 min 03 s
 *   loss 3.2140  lr 5.90e-04  norm 0.81  12.3k tokens/s  val loss 3.3140 at 100
 *
 * and during an evaluation the second is its bar. */
#include "base/clock.h"
#include "base/terminal.h"
#include "config/builder.h"
#include "data/data.h"
#include "monitor/results.h"
#include "monitor/subscribers.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double REDRAW_S = 0.1, WINDOW_S = 15;

/* Where training stood at a moment. */
typedef struct Mark {
    double seconds;
    int64_t done, tokens;
    bool is_set;
} Mark;

typedef struct Display {
    Subscriber base;
    ProgressSettings settings;
    ProgressOutput output;
    Progress train, evaluation; /* the last of each; train.total from the settings */
    bool is_evaluating;
    double evaluation_begun;
    Mark older, newer; /* rates are over the time since `older`: one to two windows */
    double drawn, begun, last_event;
    double reported; /* when the console printed results into the same place; 0: never */
    int64_t reported_step;
    char last_evaluation[80];
} Display;

/* ---- rates ---- */

static void note_rate(Display *d, const Progress *p, double now)
{
    Mark m = { .seconds = now, .done = p->done, .tokens = p->tokens, .is_set = true };
    if (!d->older.is_set || p->done < d->newer.done) {
        d->older = d->newer = m;
    } else if (now - d->newer.seconds >= WINDOW_S) {
        d->older = d->newer;
        d->newer = m;
    }
}

/* The time that an evaluation took is not training's: it counts as if it had not passed. */
static void leave_out(Display *d, double seconds)
{
    d->older.seconds += seconds;
    d->newer.seconds += seconds;
}

/* Steps and tokens per second; false before there is anything to divide. */
static bool rates(const Display *d, double now, double *steps, double *tokens)
{
    double seconds = now - d->older.seconds;
    if (!d->older.is_set || seconds <= 0 || d->train.done <= d->older.done) return false;
    *steps = (double)(d->train.done - d->older.done) / seconds;
    *tokens = (double)(d->train.tokens - d->older.tokens) / seconds;
    return true;
}

/* ---- text ---- */

static void put_bar(const Display *d, const Progress *p, int width, Text *out)
{
    double part = p->total > 0 ? (double)p->done / (double)p->total : 0;
    int full = (int)(fmin(fmax(part, 0), 1) * width);
    text_putc(out, '[');
    for (int i = 0; i < width; i++)
        text_puts(out, i < full ? d->output.is_utf8 ? "█" : "#" : d->output.is_utf8 ? "·" : ".");
    text_putc(out, ']');
}

/* `rate` per second. */
static void put_time_left(const Progress *p, double rate, Text *out)
{
    char left[32];
    format_seconds((double)(p->total - p->done) / rate, left);
    text_printf(out, "  ETA %s", left);
}

static void put_eta(const Display *d, double now, Text *out)
{
    double steps, tokens;
    if (rates(d, now, &steps, &tokens) && d->train.done < d->train.total)
        put_time_left(&d->train, steps, out);
}

static void put_evaluation_eta(const Display *d, double now, Text *out)
{
    const Progress *p = &d->evaluation;
    double seconds = now - d->evaluation_begun;
    if (p->done > 0 && p->done < p->total && seconds > 0)
        put_time_left(p, (double)p->done / seconds, out);
}

/* Bar, count and percentage; `end` follows on the same line. */
static void put_bar_line(const Display *d, const Progress *p, const char *end, int width, Text *out)
{
    Text count = { 0 };
    int percent = p->total > 0 ? (int)(100 * p->done / p->total) : 0;
    text_printf(&count, " %" PRId64 "/%" PRId64 "  %3d %%%s", p->done, p->total, percent, end);
    int tag_width = (int)strlen(d->settings.train_tag);
    for (int i = 0; i < d->settings.n_evaluations; i++)
        if ((int)strlen(d->settings.evaluation_tag[i]) > tag_width)
            tag_width = (int)strlen(d->settings.evaluation_tag[i]);
    int room = width - tag_width - 3 - (int)count.len;
    text_printf(out, "%-*s ", tag_width, p->tag);
    put_bar(d, p, room > 40 ? 40 : room < 5 ? 5 : room, out);
    text_puts(out, count.ptr);
    text_free(&count);
}

/* Each number is followed by a gap of two spaces. */
static void put_numbers(const Display *d, double now, Text *out)
{
    const Progress *p = &d->train;
    double steps, tokens;
    if (!isnan(p->loss)) text_printf(out, "loss %.4f  ", p->loss);
    if (!isnan(p->lr)) text_printf(out, "lr %.2e  ", p->lr);
    if (!isnan(p->grad_norm))
        text_printf(out, "%snorm %.2f  ", d->output.is_live ? "" : "grad ", p->grad_norm);
    if (rates(d, now, &steps, &tokens) && tokens > 0) {
        char rate[32];
        format_count(tokens, rate);
        text_printf(out, "%s tokens/s  ", rate);
    }
}

/* Cuts the text from `start` on to `width` columns, whole characters only. */
static void clip(Text *t, size_t start, int width)
{
    size_t at = start;
    for (int n = 0; at < t->len; n++) {
        if (n == width) break;
        at++;
        while (at < t->len && ((unsigned char)t->ptr[at] >> 6) == 2) at++;
    }
    t->len = at;
    t->ptr[at] = 0;
}

static void live_lines(const Display *d, double now, Text *out)
{
    int width =
        (d->output.width ? d->output.width : terminal_width(2)) - 1; /* the last would wrap */
    Text eta = { 0 };
    text_puts(&eta, "");
    put_eta(d, now, &eta);
    put_bar_line(d, &d->train, eta.ptr, width, out);
    clip(out, 0, width);
    text_putc(out, '\n');
    size_t second = out->len;
    if (d->is_evaluating) {
        text_clear(&eta);
        put_evaluation_eta(d, now, &eta);
        put_bar_line(d, &d->evaluation, eta.ptr, width, out);
    } else {
        put_numbers(d, now, out);
        text_puts(out, d->last_evaluation);
    }
    clip(out, second, width);
    text_free(&eta);
}

/* ---- drawing ---- */

/* Leaves the cursor at the start of the first line. */
static void draw(Display *d, double now)
{
    Text t = { 0 };
    text_puts(&t, "\r\033[J");
    Text lines = { 0 };
    live_lines(d, now, &lines);
    text_add(&t, lines.ptr, lines.len);
    text_puts(&t, "\r\033[1A");
    fwrite(t.ptr, 1, t.len, d->output.to);
    fflush(d->output.to);
    text_free(&lines);
    text_free(&t);
    d->drawn = now;
}

/* Seconds between two lines: 10, after ten minutes a minute. */
static double line_pause(const Display *d, double now)
{
    return now - d->begun < 600 ? 10 : 60;
}

/* After the first step, then after a pause, and at the end. A line of results in the same place
 * counts as one. */
static bool line_is_due(const Display *d, double now)
{
    double last = fmax(d->drawn, d->reported);
    if (d->reported_step == d->train.done) return false;
    return last == 0 || now - last >= line_pause(d, now) || d->train.done == d->train.total;
}

/* Only an evaluation that takes its time: the results tell when it is done. */
static bool evaluation_line_is_due(const Display *d, double now)
{
    double last = fmax(fmax(d->drawn, d->reported), d->evaluation_begun);
    return d->is_evaluating && now - last >= line_pause(d, now);
}

static void plain_line(Display *d, const Progress *p, double now)
{
    Text t = { 0 };
    int percent = p->total > 0 ? (int)(100 * p->done / p->total) : 0;
    text_printf(&t, "%s%s %" PRId64 "/%" PRId64 " (%d %%)  ", p->is_evaluation ? "evaluation " : "",
                p->tag, p->done, p->total, percent);
    if (!p->is_evaluation) put_numbers(d, now, &t);
    while (t.ptr[t.len - 1] == ' ') t.ptr[--t.len] = 0;
    if (p->is_evaluation)
        put_evaluation_eta(d, now, &t);
    else
        put_eta(d, now, &t);
    fprintf(d->output.to, "%s\n", t.ptr);
    fflush(d->output.to);
    text_free(&t);
    d->drawn = now;
}

/* ---- events ---- */

static bool is_known(const ProgressSettings *s, const Progress *p)
{
    for (int i = 0; p->is_evaluation && i < s->n_evaluations; i++)
        if (!strcmp(s->evaluation_tag[i], p->tag)) return true;
    return !p->is_evaluation && !strcmp(p->tag, s->train_tag);
}

static Error *unknown_tag(const Display *d, const Progress *p)
{
    if (!p->is_evaluation)
        return error_new("progress_subscriber.rich: the training loader's tag is \"%s\", but "
                         "train_dataloader_tag is \"%s\"",
                         p->tag, d->settings.train_tag);
    return error_new(
        "progress_subscriber.rich: the evaluation loader \"%s\" is not among eval_dataloaders",
        p->tag);
}

static Error *on_progress(Display *d, const Progress *p, double now)
{
    if (!is_known(&d->settings, p)) return unknown_tag(d, p);
    bool is_new = p->is_evaluation || p->done != d->train.done;
    if (d->begun == 0) d->begun = now;
    if (p->is_evaluation) {
        leave_out(d, now - d->last_event);
        if (p->done == 0) d->evaluation_begun = now;
        d->evaluation = *p;
    } else {
        d->train = *p;
        d->train.total = d->settings.n_target_steps;
        note_rate(d, p, now);
    }
    d->last_event = now;
    d->is_evaluating = p->is_evaluation && p->done < p->total;
    if (d->output.is_live) {
        if (now - d->drawn >= REDRAW_S || d->train.done == d->train.total) draw(d, now);
    } else if (!p->is_evaluation && is_new && p->done > d->settings.n_seen_steps &&
               line_is_due(d, now)) {
        plain_line(d, &d->train, now);
    } else if (p->is_evaluation && evaluation_line_is_due(d, now)) {
        plain_line(d, &d->evaluation, now);
    }
    return NULL;
}

static void on_results(Display *d, const Results *r, double now)
{
    if (!r->is_evaluation && d->output.beside_results) {
        d->reported = now;
        d->reported_step = r->step;
    }
    if (!r->is_evaluation || !r->losses.n) return;
    snprintf(d->last_evaluation, sizeof d->last_evaluation, "%s loss %.4f at %" PRId64, r->tag,
             r->losses.item[0].value, r->step);
}

static Error *on_event(Subscriber *self, const Event *event)
{
    Display *d = (Display *)self;
    if (event->kind == EVENT_PROGRESS) return on_progress(d, &event->progress, event->seconds);
    if (event->kind == EVENT_RESULTS) on_results(d, event->results, event->seconds);
    return NULL;
}

/* Keeps the last state on the screen and goes below it. */
static Error *close_display(Subscriber *self)
{
    Display *d = (Display *)self;
    if (d->output.is_live && d->begun > 0) {
        draw(d, clock_seconds());
        fputs("\n\n", d->output.to);
        fflush(d->output.to);
    }
    return NULL;
}

Subscriber *progress_display(Arena *a, const ProgressSettings *settings,
                             const ProgressOutput *output)
{
    Display *d = NEW(a, Display);
    *d = (Display){ .base = { .on_event = on_event, .close = close_display },
                    .settings = *settings,
                    .output = *output,
                    .reported_step = -1 };
    d->train = (Progress){ .tag = settings->train_tag,
                           .done = settings->n_seen_steps,
                           .total = settings->n_target_steps,
                           .loss = NAN,
                           .lr = NAN,
                           .grad_norm = NAN };
    return &d->base;
}

/* ---- the component ---- */

typedef struct Rich {
    ComponentList eval_dataloaders; /* of Loader */
    const char *train_dataloader_tag;
    int64_t num_seen_steps, num_target_steps, global_rank;
} Rich;

static const Field fields[] = {
    FIELD_COMPONENTS(Rich, eval_dataloaders, "data_loader", "[]", 0, 0, "loaders that get a bar"),
    FIELD_STRING(Rich, train_dataloader_tag, NULL, "tag of the training loader"),
    FIELD_INT(Rich, num_seen_steps, NULL, 0, INFINITY, "steps of earlier runs",
              .flags = FIELD_STRICT),
    FIELD_INT(Rich, num_target_steps, NULL, 1, INFINITY, "the bar's end", .flags = FIELD_STRICT),
    FIELD_INT(Rich, global_rank, NULL, 0, INFINITY, "only rank 0 shows progress",
              .flags = FIELD_STRICT),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Rich *c = settings;
    Arena *a = builder_arena(b);
    int64_t n = c->eval_dataloaders.n;
    const char **tag = NEW_N(a, const char *, n + 1);
    for (int64_t i = 0; i < n; i++) tag[i] = loader_tag(c->eval_dataloaders.item[i]);
    const ProgressSettings of_run = { .train_tag = c->train_dataloader_tag,
                                      .n_seen_steps = c->num_seen_steps,
                                      .n_target_steps = c->num_target_steps,
                                      .n_evaluations = (int)n,
                                      .evaluation_tag = tag };
    const ProgressOutput output = { .to = stderr,
                                    .is_live = is_terminal(2),
                                    .is_utf8 = terminal_is_utf8(),
                                    .beside_results = is_same_output(1, 2) };
    *out = subscriber_of_rank(a, progress_display(a, &of_run, &output), c->global_rank);
    return NULL;
}

const ComponentDef progress_subscriber_rich = {
    .kind = "progress_subscriber",
    .variant = "rich",
    .doc = "live progress on a terminal, a line now and then elsewhere",
    .fields = fields,
    .settings_size = sizeof(Rich),
    .build = build,
};
