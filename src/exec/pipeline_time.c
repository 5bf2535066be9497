/* pipeline_time.c - runs the lists of all ranks in thought: who waits for whom, and how long. */
#include "exec/pipeline_schedule.h"

enum { NEVER = -1 };

typedef struct Clock {
    const PipelineSchedule *p;
    const PipelineCosts *costs;
    double *made[2]; /* when an activation, a gradient leaves a stage: [stage][microbatch] */
    bool *done[2];   /* likewise, whether it has */
    double *free_at; /* by rank */
    int64_t *next;   /* by rank: the action that is to come */
    PipelineRun *run;
} Clock;

enum { ACTIVATION, GRADIENT };

static int64_t place_of(const Clock *c, int stage, int64_t microbatch)
{
    return stage * c->p->shape.microbatches + microbatch;
}

/* What an action takes from elsewhere: an activation or gradient of another stage. */
typedef struct Need {
    int kind, stage; /* stage NEVER: nothing */
} Need;

static Need need_of(const Clock *c, const Action *x)
{
    if (x->phases & RUN_FORWARD) return (Need){ ACTIVATION, x->stage - 1 };
    bool is_last = x->stage == c->p->n_stages - 1;
    if (x->phases & 1u << BACKWARD_INPUT && !is_last) return (Need){ GRADIENT, x->stage + 1 };
    return (Need){ ACTIVATION, NEVER };
}

static double duration(const Clock *c, const Action *x)
{
    const StageCosts *s = &c->costs->stage[x->stage];
    return (x->phases & RUN_FORWARD ? s->forward : 0) +
           (x->phases >> BACKWARD_INPUT & 1 ? s->backward_input : 0) +
           (x->phases >> BACKWARD_WEIGHT & 1 ? s->backward_weight : 0);
}

/* NULL: the rank is through with its microbatches. */
static const Action *next_action(const Clock *c, int rank)
{
    const Schedule *s = &c->p->rank[rank];
    const Action *x = &s->action[c->next[rank]];
    return c->next[rank] == s->n || x->phases & RUN_STEP ? NULL : x;
}

/* When everything is there that an action needs from other stages; false: not yet. */
static bool is_ready(const Clock *c, int rank, const Action *x, double *at)
{
    Need need = need_of(c, x);
    if (need.stage == NEVER) return true;
    int64_t place = place_of(c, need.stage, x->microbatch);
    if (!c->done[need.kind][place]) return false;
    bool is_far = c->p->rank_of[need.stage] != rank;
    double there = c->made[need.kind][place] + (is_far ? c->costs->transfer : 0);
    if (there > *at) *at = there;
    return true;
}

static void give(Clock *c, const Action *x, double at)
{
    int64_t own = place_of(c, x->stage, x->microbatch);
    for (int kind = ACTIVATION; kind <= GRADIENT; kind++) {
        if (!(x->phases >> (kind == ACTIVATION ? FORWARD : BACKWARD_INPUT) & 1)) continue;
        c->made[kind][own] = at;
        c->done[kind][own] = true;
    }
}

/* Lets a rank do its next action, or two that run side by side; false: it has to wait, or has done
 * all. */
static bool advance(Clock *c, int rank)
{
    const Action *x = next_action(c, rank);
    if (!x) return false;
    int n = c->costs->side_by_side && c->p->beside[rank][c->next[rank]] ? 2 : 1;
    double start = c->free_at[rank], end;
    for (int i = 0; i < n; i++)
        if (!is_ready(c, rank, x + i, &start)) return false;
    end = start;
    for (int i = 0; i < n; i++) {
        double until = end + duration(c, x + i);
        c->run->event[c->run->n++] = (PipelineEvent){ rank, x + i, end, until };
        end = until;
    }
    for (int i = 0; i < n; i++) give(c, x + i, end);
    c->free_at[rank] = end;
    c->next[rank] += n;
    return true;
}

static Error *stuck(const Clock *c)
{
    Error *e = NULL;
    for (int r = 0; r < c->p->shape.ranks; r++) {
        const Action *x = next_action(c, r);
        if (!x) continue;
        Need need = need_of(c, x);
        e = error_join(e, error_new("rank %d waits for the %s of microbatch %lld from stage %d", r,
                                    need.kind == ACTIVATION ? "activations" : "gradients",
                                    (long long)x->microbatch, need.stage));
    }
    return e;
}

static int64_t count_actions(const PipelineSchedule *p)
{
    int64_t n = 0;
    for (int r = 0; r < p->shape.ranks; r++) n += p->rank[r].n;
    return n;
}

static void sum_up(const Clock *c)
{
    PipelineRun *run = c->run;
    double busy = 0;
    for (int64_t i = 0; i < run->n; i++) {
        busy += run->event[i].end - run->event[i].start;
        if (run->event[i].end > run->seconds) run->seconds = run->event[i].end;
    }
    if (run->seconds > 0) run->bubble = 1 - busy / (run->seconds * c->p->shape.ranks);
}

/* In rounds in which each rank does one action at most, so that the events come nearly in the order
 * of time. */
Error *pipeline_simulate(Arena *a, const PipelineSchedule *p, const PipelineCosts *costs,
                         PipelineRun *out)
{
    int64_t n = p->n_stages * p->shape.microbatches;
    *out = (PipelineRun){ .event = NEW_N(a, PipelineEvent, count_actions(p)) };
    Clock c = { .p = p, .costs = costs, .run = out };
    for (int kind = ACTIVATION; kind <= GRADIENT; kind++) {
        c.made[kind] = NEW_N(a, double, n);
        c.done[kind] = NEW_N(a, bool, n);
    }
    c.free_at = NEW_N(a, double, p->shape.ranks);
    c.next = NEW_N(a, int64_t, p->shape.ranks);
    for (int64_t before = -1; before < out->n;) {
        before = out->n;
        for (int r = 0; r < p->shape.ranks; r++) advance(&c, r);
    }
    sum_up(&c);
    return stuck(&c);
}

PipelineCosts pipeline_equal_costs(Arena *a, const PipelineSchedule *p, double unit)
{
    StageCosts *s = NEW_N(a, StageCosts, p->n_stages);
    double each = unit / p->shape.per_rank;
    for (int i = 0; i < p->n_stages; i++) s[i] = (StageCosts){ each, each, each };
    return (PipelineCosts){ .stage = s };
}

Error *pipeline_merge(Arena *a, const PipelineSchedule *p, Schedule *out)
{
    PipelineCosts costs = pipeline_equal_costs(a, p, 1);
    PipelineRun run;
    TRY(pipeline_simulate(a, p, &costs, &run));
    *out = (Schedule){ .action = NEW_N(a, Action, run.n + 2) };
    for (int64_t i = 0; i < run.n; i++) out->action[out->n++] = *run.event[i].action;
    out->action[out->n++] = (Action){ .phases = RUN_REDUCE };
    out->action[out->n++] = (Action){ .phases = RUN_UPDATE };
    return NULL;
}
