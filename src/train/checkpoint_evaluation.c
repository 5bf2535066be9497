/* checkpoint_evaluation.c - `evaluate`: the losses of a checkpoint, and the likelihood of
 * documents.
 */
#include "train/checkpoint_evaluation.h"
#include "base/json.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "monitor/results.h"
#include "train/document_scores.h"
#include "train/evaluator.h"
#include "train/settings.h"
#include "train/state.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Evaluation {
    Subscriber base; /* first: hears of the losses */
    Arena *arena;
    const CheckpointEvaluation *s;
    Consensus *together;
    TrainingConfig config;
    Mesh mesh;
    TrainingJob job;
    Events events;
    Session *session;
    NewFile results, log_likelihoods; /* stream NULL: none */
} Evaluation;

/* ---- what is asked for ---- */

/* The keys of a training that decide what its evaluation gives. */
static const Field *needed_fields(Arena *a)
{
    static const char *const names[] = { "settings",         "app_state",          "loss_fn",
                                         "eval_dataloaders", "scheduled_pipeline", "device_mesh" };
    return training_fields_named(a, names, sizeof names / sizeof *names);
}

static Error *read_config(Evaluation *v, const Registry *registry)
{
    const CheckpointEvaluation *s = v->s;
    const ResolverContext context = { .rank = s->crew->rank,
                                      .config_file_path = s->config_file_path,
                                      .experiments_root_path = s->experiments_root_path,
                                      .experiment_id = "evaluate" };
    Yaml *root;
    TRY(config_load(v->arena, s->config_file_path, s->overrides, &context, &root));
    TRY(training_config_complete(v->arena, root, s->crew->rank, s->experiments_root_path));
    Builder *b = builder_new(v->arena, registry, root, s->crew->rank);
    TRY(builder_try(b, needed_fields(v->arena), &v->config));
    const TrainingConfig *c = &v->config;
    v->mesh = c->device_mesh ? *c->device_mesh : mesh_of_rank(s->crew->rank);
    if (!c->app_state || !c->loss_fn)
        return error_new("%s: what it needs is not there, so there is nothing to evaluate",
                         s->config_file_path);
    if (!c->eval_dataloaders.n && !s->documents.n)
        return error_usage("%s has no eval_dataloaders, and there are no --documents: nothing is "
                           "to be evaluated",
                           s->config_file_path);
    if (v->mesh.world_size != s->crew->rank->world_size)
        return error_new("%s: its device_mesh has %" PRId64 " ranks, but this job has %" PRId64
                         " (--ranks)",
                         s->config_file_path, v->mesh.world_size, s->crew->rank->world_size);
    return NULL;
}

/* ---- results ---- */

/* To stdout, and to the file of results. */
static Error *tell(Evaluation *v, const Text *line)
{
    if (!consensus_leads(v->together)) return NULL;
    printf("%s\n", line->ptr);
    fflush(stdout);
    if (v->results.stream) fprintf(v->results.stream, "%s\n", line->ptr);
    return NULL;
}

/* JSON has no infinity: a perplexity beyond all numbers is null. */
static void put_number(Text *to, const char *name, double x)
{
    text_printf(to, ", \"%s\": ", name);
    if (isfinite(x))
        text_json_double(to, x);
    else
        text_puts(to, "null");
}

static Error *on_event(Subscriber *self, const Event *event)
{
    Evaluation *v = (Evaluation *)self;
    if (event->kind != EVENT_RESULTS || !event->results->is_evaluation) return NULL;
    const Results *r = event->results;
    Text line = { 0 };
    text_puts(&line, "{\"data\": ");
    text_json_string(&line, str_of(r->tag));
    put_number(&line, "loss", r->losses.item[0].value);
    put_number(&line, "perplexity", exp(r->losses.item[0].value));
    text_printf(&line, ", \"checkpoint\": ");
    text_json_path(&line, v->s->checkpoint);
    text_putc(&line, '}');
    Error *e = tell(v, &line);
    text_free(&line);
    return e;
}

static void put_score(Evaluation *v, const char *path, int64_t i, const DocumentScore *d)
{
    Text line = { 0 };
    text_puts(&line, "{\"file\": ");
    text_json_path(&line, path);
    text_printf(&line, ", \"document\": %" PRId64 ", \"tokens\": %" PRId64 ", \"scored\": %" PRId64,
                i, d->n_tokens, d->n_scored);
    put_number(&line, "log_likelihood", d->log_likelihood);
    text_printf(&line, ", \"is_greedy\": %s}\n", d->is_greedy ? "true" : "false");
    fputs(line.ptr, v->log_likelihoods.stream);
    text_free(&line);
}

static Error *tell_scores(Evaluation *v, const char *path, const DocumentScore *score, int64_t n)
{
    int64_t n_scored = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        n_scored += score[i].n_scored;
        sum += score[i].log_likelihood;
        if (v->log_likelihoods.stream) put_score(v, path, i, &score[i]);
    }
    Text line = { 0 };
    text_puts(&line, "{\"documents\": ");
    text_json_path(&line, path);
    text_printf(&line, ", \"n\": %" PRId64 ", \"scored\": %" PRId64, n, n_scored);
    put_number(&line, "log_likelihood", sum);
    put_number(&line, "loss", -sum / (double)n_scored);
    put_number(&line, "perplexity", exp(-sum / (double)n_scored));
    text_printf(&line, ", \"checkpoint\": ");
    text_json_path(&line, v->s->checkpoint);
    text_putc(&line, '}');
    Error *e = tell(v, &line);
    text_free(&line);
    return e;
}

/* ---- the passes ---- */

static Error *open_session(Evaluation *v)
{
    CHECK(v->config.app_state != NULL); /* read_config */
    Model *m = v->config.app_state->model;
    Groups *groups = v->together ? groups_new(v->arena, &v->mesh, v->together->world) : NULL;
    m->weights_path = NULL; /* the checkpoint has them all */
    const Rank *rank = v->s->crew->rank;
    return session_new(&(SessionSettings){ .model = m,
                                           .device = device_choose(v->s->device, rank->world_size),
                                           .local_rank = (int)rank->local_rank,
                                           .n_threads = v->s->crew->n_threads,
                                           .memory = v->s->crew->memory,
                                           .groups = groups,
                                           .rounded_buffers = m->compute == BF16,
                                           .rank = v->mesh.rank },
                       &v->session);
}

static Scoring scoring_of(const Evaluation *v)
{
    return (Scoring){ .session = v->session,
                      .model = v->config.app_state->model,
                      .sequence = v->config.settings.step_profile.sequence_length,
                      .mesh = &v->mesh,
                      .together = v->together };
}

/* Any program brings all parameters into the store. */
static Error *make_program(Evaluation *v)
{
    const StepProfile *p = &v->config.settings.step_profile;
    const Loader *first = v->config.eval_dataloaders.n ? v->config.eval_dataloaders.item[0] : NULL;
    const Scoring scoring = scoring_of(v);
    Program *unused;
    if (!first) return document_scoring_open(&scoring);
    return session_evaluation_program(v->session, v->config.loss_fn, loader_batch_size(first),
                                      p->sequence_length, &unused);
}

static Error *score_files(Evaluation *v)
{
    const Scoring scoring = scoring_of(v);
    for (int64_t i = 0; i < v->s->documents.n; i++) {
        DocumentScore *score;
        Pbin file;
        int64_t n;
        const char *path = v->s->documents.item[i];
        TRY(consensus_error(v->together, pbin_open(v->arena, path, &file)));
        TRY(document_scores(v->arena, &scoring, &file, &score, &n));
        if (consensus_leads(v->together)) TRY(tell_scores(v, path, score, n));
    }
    return NULL;
}

static Error *open_files(Evaluation *v)
{
    if (!consensus_leads(v->together)) return NULL;
    if (v->s->results) TRY(file_create(v->s->results, &v->results));
    return v->s->log_likelihoods ? file_create(v->s->log_likelihoods, &v->log_likelihoods) : NULL;
}

static Error *commit_files(Evaluation *v)
{
    if (v->results.stream) TRY(file_commit(&v->results));
    return v->log_likelihoods.stream ? file_commit(&v->log_likelihoods) : NULL;
}

static Error *run(Evaluation *v, const Registry *registry)
{
    Consensus *together = v->together;
    bool is_whole;
    TRY(consensus_error(together, session_check_device(v->s->device)));
    TRY(consensus_error(together, read_config(v, registry)));
    consensus_wait_at_most(together, v->config.settings.comm_timeout);
    TRY(consensus_error(together, open_files(v)));
    TRY(consensus_error(together, open_session(v)));
    TRY(consensus_error(together, make_program(v)));
    ParamStore *store = session_store(v->session);
    TRY(consensus_error(together,
                        error_wrap(state_load(store, v->s->checkpoint,
                                              together ? together->world : NULL, false, NULL),
                                   "%s", v->s->checkpoint)));
    v->job = (TrainingJob){ .state = v->config.app_state,
                            .loss = v->config.loss_fn,
                            .evaluation = { (Loader **)v->config.eval_dataloaders.item,
                                            v->config.eval_dataloaders.n },
                            .events = &v->events,
                            .dp_degree = mesh_dp_degree(&v->mesh),
                            .consensus = together,
                            .mesh = v->mesh };
    if (consensus_leads(together)) events_subscribe(&v->events, &v->base);
    TRY(evaluate(v->session, &v->job, 0, &is_whole));
    TRY(score_files(v));
    return consensus_error(together, commit_files(v));
}

Error *checkpoint_evaluation(const Registry *r, const CheckpointEvaluation *s)
{
    Arena *a = arena_new();
    Evaluation *v = NEW(a, Evaluation);
    *v = (Evaluation){
        .base.on_event = on_event, .arena = a, .s = s, .together = crew_consensus(s->crew)
    };
    Error *e = run(v, r);
    file_abandon(&v->results);
    file_abandon(&v->log_likelihoods);
    if (v->session) session_free(v->session);
    arena_free(a);
    return e;
}
