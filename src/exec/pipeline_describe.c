/* pipeline_describe.c - what a pipeline does, for people: what lies where, and a picture of a step.
 */
#include "exec/pipeline_describe.h"
#include "base/json.h"
#include "models/model.h"

typedef struct Description {
    Arena *arena;
    const Pipeline *p;
    int64_t batch; /* samples of the loader's batch */
    PipelineSchedule *schedule;
    StageParts parts;
    FILE *to;
} Description;

static Error *find_parts(Description *d)
{
    const Model *m = d->p->model;
    Graph *g = graph_new(d->arena);
    const ForwardSettings f = { .batch = d->batch / d->p->per_batch,
                                .sequence = m->sequence_length };
    const Dim tokens[] = { { .size = f.batch, .axis = "batch" },
                           { .size = f.sequence, .axis = "seq" } };
    ModelOutput out = { 0 };
    TRY(m->forward(m, g, &f, &out));
    model_loss(g, &out, graph_input(g, "targets of the loss", I32, 2, tokens), false);
    TRY(graph_finish(g));
    return stages_find(g, &d->p->stages, &d->parts);
}

/* "embedding, blocks 0 to 3"; parts [first, end). */
static const char *content(const Description *d, int first, int end)
{
    const int last = d->parts.n - 1;
    int from = first ? first - 1 : 0, to = (end > last ? last : end) - 2; /* blocks */
    const char *text = first ? "" : "embedding";
    if (from <= to)
        text = from == to ? arena_printf(d->arena, "%s%sblock %d", text, *text ? ", " : "", from)
                          : arena_printf(d->arena, "%s%sblocks %d to %d", text, *text ? ", " : "",
                                         from, to);
    return end > last ? arena_printf(d->arena, "%s%shead, loss", text, *text ? ", " : "") : text;
}

static void print_stages(const Description *d, double total, const double *cost)
{
    const StageParts *p = &d->parts;
    for (int stage = 0, first = 0, end; stage < d->schedule->n_stages; stage++, first = end) {
        for (end = first; end < p->n && p->stage_of[end] == stage; end++) continue;
        fprintf(d->to, "stage %d on rank %d: %s; %.1f %% of the time\n", stage,
                d->schedule->rank_of[stage], content(d, first, end), 100 * cost[stage] / total);
    }
}

/* Backward takes twice as long as forward. */
static Error *simulate(const Description *d, const double *cost, PipelineRun *out)
{
    const int n = d->schedule->n_stages;
    StageCosts *each = NEW_N(d->arena, StageCosts, n);
    for (int i = 0; i < n; i++) each[i] = (StageCosts){ cost[i], cost[i], cost[i] };
    return pipeline_simulate(d->arena, d->schedule, &(PipelineCosts){ .stage = each }, out);
}

static Error *print_bubble(const Description *d, double total, const double *cost)
{
    PipelineRun run;
    TRY(simulate(d, cost, &run));
    double ideal = 3 * total * (double)d->schedule->shape.microbatches / d->schedule->shape.ranks;
    fprintf(d->to,
            "with these stages the ranks wait %.1f %% of the time; a step takes %.2f times as long "
            "as if nobody waited\n\n",
            100 * run.bubble, run.seconds / ideal);
    return NULL;
}

/* The schedule, and the costs of the forward pass by stage and in all. */
static Error *measure(Description *d, int64_t batches, double **cost, double *total)
{
    const Pipeline *p = d->p;
    const PipelineShape shape = { (int)p->ranks, p->per_rank, batches * p->per_batch };
    TRY(pipeline_schedule_new(d->arena, p->schedule, &shape, &d->schedule));
    TRY(find_parts(d));
    *total = 0;
    *cost = NEW_N(d->arena, double, d->schedule->n_stages);
    for (int i = 0; i < d->parts.n; i++) {
        (*cost)[d->parts.stage_of[i]] += d->parts.cost[i];
        *total += d->parts.cost[i];
    }
    return NULL;
}

static Error *describe(Description *d, int64_t batches, int width)
{
    double total, *cost;
    TRY(measure(d, batches, &cost, &total));
    print_stages(d, total, cost);
    TRY(print_bubble(d, total, cost));
    return pipeline_print(d->schedule, width, d->to);
}

Error *pipeline_describe(const Pipeline *p, int64_t batches, int64_t samples, int width, FILE *to)
{
    if (!p || p->ranks == 1)
        return error_usage("--print_schedule: the configuration has no pipeline of several ranks");
    if (samples % p->per_batch)
        return error_usage("a batch of %lld samples cannot be cut into %lld microbatches",
                           (long long)samples, (long long)p->per_batch);
    Description d = { .arena = arena_new(), .p = p, .batch = samples, .to = to };
    Error *e = describe(&d, batches, width);
    arena_free(d.arena);
    return e;
}

/* "F", "B", or the two halves of a backward pass: "I" for inputs, "W" for weights. */
static char letter(const Action *x)
{
    if (x->phases & RUN_FORWARD) return 'F';
    if ((x->phases & RUN_BACKWARD) == RUN_BACKWARD) return 'B';
    return x->phases & 1 << BACKWARD_INPUT ? 'I' : 'W';
}

static Error *put_events(Description *d, int64_t batches, Text *out)
{
    double total, *cost;
    PipelineRun run;
    TRY(measure(d, batches, &cost, &total));
    TRY(simulate(d, cost, &run));
    text_puts(out, "{\"name\":");
    text_json_string(out, str_of(d->p->schedule));
    text_printf(out,
                ",\"ranks\":%d,\"stages\":%d,\"microbatches\":%lld,\"bubble\":%.4g,\"events\":[",
                d->schedule->shape.ranks, d->schedule->n_stages,
                (long long)d->schedule->shape.microbatches, run.bubble);
    for (int64_t i = 0; i < run.n; i++) {
        const PipelineEvent *e = &run.event[i];
        text_printf(out, "%s[%d,\"%c\",%d,%lld,%.5g,%.5g]", i ? "," : "", e->rank,
                    letter(e->action), e->action->stage, (long long)e->action->microbatch,
                    e->start / run.seconds, e->end / run.seconds);
    }
    text_puts(out, "]}\n");
    return NULL;
}

Error *pipeline_events_json(const Pipeline *p, int64_t batches, int64_t samples, Text *out)
{
    Description d = { .arena = arena_new(), .p = p, .batch = samples };
    Error *e = put_events(&d, batches, out);
    arena_free(d.arena);
    return e;
}
