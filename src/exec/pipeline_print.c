/* pipeline_print.c - a pipeline schedule as a picture in text. */
#include "exec/pipeline_schedule.h"
#include "exec/schedules/schedule_def.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells of one character less than `width` each; an empty one is a rank that waits. */
typedef struct Picture {
    Arena *arena;
    const PipelineSchedule *p;
    int64_t n; /* units of time */
    int width, margin;
    const char **cell; /* [rank][unit] */
    bool has_parts;    /* gradients of inputs and weights apart */
    bool has_pairs;    /* actions side by side */
} Picture;

static char letter_of(unsigned phases)
{
    if (phases & RUN_FORWARD) return 'F';
    if ((phases & RUN_BACKWARD) == RUN_BACKWARD) return 'B';
    return phases >> BACKWARD_INPUT & 1 ? 'I' : 'W';
}

/* "F3", and where a rank has several stages "F3a". */
static const char *label_of(const Picture *x, const Action *action)
{
    const PipelineShape *s = &x->p->shape;
    char letter = letter_of(action->phases);
    int chunk = action->stage / s->ranks;
    if (s->per_rank == 1)
        return arena_printf(x->arena, "%c%lld", letter, (long long)action->microbatch);
    if (s->per_rank > 26)
        return arena_printf(x->arena, "%c%lld.%d", letter, (long long)action->microbatch, chunk);
    return arena_printf(x->arena, "%c%lld%c", letter, (long long)action->microbatch, 'a' + chunk);
}

/* The label of an action, with a stroke where it may run side by side with the next one. */
static const char *marked(const Picture *x, const PipelineEvent *e)
{
    const Schedule *s = &x->p->rank[e->rank];
    const char *label = label_of(x, e->action);
    return x->p->beside[e->rank][e->action - s->action] ? arena_printf(x->arena, "%s|", label)
                                                        : label;
}

static void paint(Picture *x, const PipelineRun *run)
{
    for (int64_t i = 0; i < run->n; i++) {
        const PipelineEvent *e = &run->event[i];
        int length = (int)strlen(label_of(x, e->action));
        if (length >= x->width) x->width = length + 1;
    }
    for (int64_t i = 0; i < run->n; i++) {
        const PipelineEvent *e = &run->event[i];
        const char *label = marked(x, e);
        x->has_pairs |= strchr(label, '|') != NULL;
        x->has_parts |= *label == 'I' || *label == 'W';
        for (int64_t t = llround(e->start); t < llround(e->end); t++)
            x->cell[e->rank * x->n + t] = t == llround(e->start) ? label : "--";
    }
}

/* A line without the blanks at its end. */
static void print_line(Text *line, FILE *to)
{
    while (line->len && line->ptr[line->len - 1] == ' ') line->len--;
    fprintf(to, "%.*s\n", (int)line->len, line->ptr);
    text_clear(line);
}

static void print_band(const Picture *x, int64_t from, int64_t end, Text *line, FILE *to)
{
    enum { EVERY = 5 };
    text_printf(line, "%-*s", x->margin, "time");
    for (int64_t t = from; t < end; t += EVERY - t % EVERY) {
        int64_t until = t + EVERY - t % EVERY;
        if (until > end) until = end;
        text_printf(line, "%-*lld", (int)(until - t) * x->width, (long long)t);
    }
    print_line(line, to);
    for (int r = 0; r < x->p->shape.ranks; r++) {
        text_printf(line, "rank %-*d", x->margin - 5, r);
        for (int64_t t = from; t < end; t++) {
            const char *cell = x->cell[r * x->n + t];
            text_printf(line, "%-*s", x->width, cell ? cell : ".");
        }
        print_line(line, to);
    }
}

static void print_head(const Picture *x, double bubble, FILE *to)
{
    const PipelineShape *s = &x->p->shape;
    fprintf(to, "%s: %d stages on %d ranks, %lld microbatch%s; bubble %.1f %%\n", x->p->def->name,
            x->p->n_stages, s->ranks, (long long)s->microbatches, s->microbatches == 1 ? "" : "es",
            100 * bubble);
    fprintf(to, "activations of so many microbatches are kept, by rank:");
    for (int r = 0; r < s->ranks; r++)
        fprintf(to, " %.4g", (double)pipeline_live(x->p, r) / s->per_rank);
    fprintf(to, "\nF forward, B backward, . waits; the number is the microbatch\n");
    if (s->per_rank > 1) fprintf(to, "a, b ...: which of the rank's stages\n");
    if (x->has_parts) fprintf(to, "I, W: backward for the input, for the weights\n");
    if (x->has_pairs) fprintf(to, "|: may run side by side with the next one\n");
}

static Error *print(Arena *a, const PipelineSchedule *p, int width, FILE *to)
{
    PipelineCosts costs = pipeline_equal_costs(a, p, p->shape.per_rank);
    PipelineRun run;
    TRY(pipeline_simulate(a, p, &costs, &run));
    Picture x = { .arena = a, .p = p, .n = llround(run.seconds), .width = 3 };
    x.margin = (int)strlen(arena_printf(a, "rank %d  ", p->shape.ranks - 1));
    x.cell = NEW_N(a, const char *, x.n * p->shape.ranks);
    paint(&x, &run);
    print_head(&x, run.bubble, to);
    int64_t fit = (width + 1 - x.margin) / x.width;
    if (fit < 1) fit = 1;
    int64_t bands = (x.n + fit - 1) / fit;
    fit = (x.n + bands - 1) / bands; /* none much shorter than the others */
    Text line = { 0 };
    for (int64_t t = 0; t < x.n; t += fit) {
        fprintf(to, "\n");
        print_band(&x, t, t + fit < x.n ? t + fit : x.n, &line, to);
    }
    text_free(&line);
    return NULL;
}

Error *pipeline_print(const PipelineSchedule *p, int width, FILE *to)
{
    Arena *a = arena_new();
    Error *e = print(a, p, width, to);
    arena_free(a);
    return e;
}
