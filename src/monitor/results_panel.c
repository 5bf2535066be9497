/* results_panel.c - results_subscriber.rich: results in a box on stdout. */
#include "monitor/results_panel.h"
#include "base/terminal.h"
#include "config/builder.h"
#include "monitor/subscribers.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The edges of a box, left corner, line, right corner, for the top, the sides and the bottom. */
typedef struct Box {
    const char *top[3], *side, *bottom[3];
} Box;

static const Box round_box = { { "╭", "─", "╮" }, "│", { "╰", "─", "╯" } };
static const Box plain_box = { { "+", "-", "+" }, "|", { "+", "-", "+" } };

static void edge(const char *const part[3], int width, Text *out)
{
    text_puts(out, part[0]);
    for (int i = 0; i < width - 2; i++) text_puts(out, part[1]);
    text_printf(out, "%s\n", part[2]);
}

static int columns(const char *s, size_t len)
{
    int n = 0;
    for (size_t i = 0; i < len; i++) n += ((unsigned char)s[i] >> 6) != 2;
    return n;
}

/* The bytes of `s` that fit into `room` columns: up to the last space if there is one, else as many
 * as fit; a character is not cut. */
static size_t fitting(const char *s, int room)
{
    size_t at = 0, space = 0;
    for (int n = 0; s[at]; n++) {
        if (n == room) return space ? space : at;
        if (s[at] == ' ') space = at;
        at++;
        while (((unsigned char)s[at] >> 6) == 2) at++;
    }
    return at;
}

static void row(const Box *box, const char *text, int width, Text *out)
{
    do {
        size_t n = fitting(text, width - 4);
        text_printf(out, "%s %.*s%*s %s\n", box->side, (int)n, text, width - 4 - columns(text, n),
                    "", box->side);
        text += n;
        while (*text == ' ') text++;
    } while (*text);
}

/* How torch prints a tensor without dimensions: four decimals, scientific when small or large. */
static void tensor_text(const Measure *m, Text *out)
{
    double x = m->value, size = fabs(x);
    if (m->is_count)
        text_printf(out, "tensor(%" PRId64 ")", m->count);
    else if (isnan(x))
        text_puts(out, "tensor(nan)");
    else if (isinf(x))
        text_puts(out, x < 0 ? "tensor(-inf)" : "tensor(inf)");
    else if (x == 0)
        text_puts(out, signbit(x) ? "tensor(-0.)" : "tensor(0.)");
    else if (size > 1e8 || (x != ceil(x) && size < 1e-4))
        text_printf(out, "tensor(%.4e)", x);
    else if (x == ceil(x))
        text_printf(out, "tensor(%.0f.)", x);
    else
        text_printf(out, "tensor(%.4f)", x);
}

static void group(const Box *box, const char *title, const char *tag, const Measures *m, int width,
                  Text *out)
{
    if (!m->n) return;
    row(box, "", width, out);
    row(box, title, width, out);
    for (int i = 0; i < m->n; i++) {
        const Measure *one = &m->item[i];
        Text line = { 0 };
        text_printf(&line, "%s %s: ResultItem(value=", tag, one->name);
        tensor_text(one, &line);
        if (one->decimals < 0)
            text_puts(&line, ", decimal_places=None)");
        else
            text_printf(&line, ", decimal_places=%d)", one->decimals);
        row(box, line.ptr, width, out);
        text_free(&line);
    }
}

void results_panel(const Results *r, int64_t num_ranks, int width, bool is_utf8, Text *out)
{
    if (!r->losses.n && !r->metrics.n) return;
    const Box *box = is_utf8 ? &round_box : &plain_box;
    if (width < 20) width = 20;
    char first[64];
    snprintf(first, sizeof first, "Iteration #%" PRId64 ":", r->step * num_ranks);
    edge(box->top, width, out);
    row(box, first, width, out);
    group(box, "Losses:", r->tag, &r->losses, width, out);
    group(box, "Metrics:", r->tag, &r->metrics, width, out);
    edge(box->bottom, width, out);
}

typedef struct Rich {
    Subscriber base;
    int64_t num_ranks, global_rank;
} Rich;

static const Field fields[] = {
    FIELD_INT(Rich, num_ranks, NULL, 1, INFINITY,
              "ranks of the job; the box counts steps times ranks"),
    FIELD_INT(Rich, global_rank, NULL, 0, INFINITY, "only rank 0 prints"),
    { 0 },
};

static Error *on_event(Subscriber *self, const Event *event)
{
    if (event->kind != EVENT_RESULTS) return NULL;
    Text box = { 0 };
    results_panel(event->results, ((Rich *)self)->num_ranks, terminal_width(1), terminal_is_utf8(),
                  &box);
    if (box.len) printf("%s%s", terminal_erase(1), box.ptr);
    fflush(stdout);
    text_free(&box);
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Rich *s = arena_copy(builder_arena(b), settings, sizeof(Rich));
    s->base.on_event = on_event;
    *out = subscriber_of_rank(builder_arena(b), &s->base, s->global_rank);
    return NULL;
}

const ComponentDef results_subscriber_rich = {
    .kind = "results_subscriber",
    .variant = "rich",
    .doc = "prints every result in a box",
    .fields = fields,
    .settings_size = sizeof(Rich),
    .build = build,
};
