/* document_scores.c - how likely a model finds each document of packed files.
 *
 * Data-parallel ranks score one document each at a time; those that work on the same samples (tp,
 * cp, pp) work on the same document, and one of them counts. As ranks may share parameters, all run
 * the same programs in the same order: as many windows as the longest of these documents has, each
 * of the length that the longest one needs. What lies after the end of a document changes nothing
 * before it. */
#include "train/document_scores.h"
#include <math.h>
#include <string.h>

enum { SHORTEST = 16 };

/* Documents that are scored at a time. */
static int64_t n_at_once(const Scoring *s)
{
    return mesh_dp_degree(s->mesh);
}

static int64_t own_place(const Scoring *s)
{
    return mesh_dp_place(s->mesh, s->mesh->rank);
}

/* Of the ranks that have the same logits, the first one. */
static bool counts(const Scoring *s)
{
    return !mesh_coordinate(s->mesh, MESH_TP, s->mesh->rank) &&
           !mesh_coordinate(s->mesh, MESH_CP, s->mesh->rank);
}

/* Few lengths, so that there are few programs; each can be cut by ranks that share a sequence. */
static int64_t window_length(const Scoring *s, int64_t n)
{
    int64_t length = SHORTEST * s->mesh->size[MESH_CP] * s->mesh->size[MESH_TP];
    while (length < n) length *= 2;
    return length < s->sequence ? length : s->sequence;
}

static Error *program_for(const Scoring *s, int64_t length, Program **out)
{
    return session_inspection_program(s->session, NULL, false, 1, length, out);
}

Error *document_scoring_open(const Scoring *s)
{
    Program *p;
    return program_for(s, s->sequence, &p);
}

typedef struct Document {
    int64_t first, n; /* tokens in the file */
} Document;

static Error *check_ids(const Scoring *s, const Pbin *file, const int32_t *token, int64_t n,
                        int64_t at)
{
    for (int64_t i = 0; i < n; i++)
        if (token[i] < 0 || token[i] >= s->model->vocab_size)
            return error_new("%s: token %lld: id %d is not in [0, %lld)", file->path,
                             (long long)(at + i), (int)token[i], (long long)s->model->vocab_size);
    return NULL;
}

/* The logarithm of the probability that a row of logits gives to `target`. */
static double log_probability(const float *logit, int64_t n, int64_t target, bool *is_first)
{
    double most = logit[0], sum = 0;
    *is_first = true;
    for (int64_t i = 0; i < n; i++) {
        if (logit[i] > most) most = logit[i];
        *is_first &= logit[i] <= logit[target];
    }
    for (int64_t i = 0; i < n; i++) sum += exp(logit[i] - most);
    return logit[target] - most - log(fmax(sum, 1)); /* the largest one is 1 */
}

static Error *read_logits(Arena *a, Program *p, const float **out)
{
    const Tensor *logits = program_output(p, "logits", 0);
    const int64_t n = tensor_count(logits);
    void *there = arena_alloc(a, tensor_bytes(logits));
    TRY(program_read(p, "logits", 0, there));
    float *as = there;
    if (logits->dtype != F32) {
        as = arena_alloc(a, (size_t)n * sizeof *as);
        dtype_convert(F32, as, logits->dtype, there, n);
    }
    *out = as;
    return NULL;
}

/* Window w of a document, if it has that many; another rank's may have. */
static Error *score_window(Arena *a, const Scoring *s, const Pbin *file, const Document *d,
                           int64_t w, int64_t length, DocumentScore *to)
{
    Program *p;
    CHECK(length > 0);
    TRY(program_for(s, length, &p));
    const ModelInput *in = s->model->inputs;
    const int64_t from = w * s->sequence, left = d->n - 1 - from;
    const int64_t n = left <= 0 ? 0 : left < length ? left : length;
    int32_t *token = NEW_N(a, int32_t, length + 1);
    for (int64_t i = 0; i <= n && n; i++) token[i] = (int32_t)pbin_token(file, d->first + from + i);
    TRY(check_ids(s, file, token, n ? n + 1 : 0, d->first + from));
    TRY(program_write(p, in->name, 0, token));
    TRY(program_run_phases(p, RUN_FORWARD, &(RunTime){ .loss_scale = 1 }));
    const float *logits;
    if (!program_output(p, "logits", 0)) return NULL; /* another stage of the pipeline has them */
    TRY(read_logits(a, p, &logits));
    const int64_t n_ids = tensor_count(program_output(p, "logits", 0)) / length;
    for (int64_t i = 0; i < n; i++) {
        bool is_first;
        to->log_likelihood += log_probability(logits + i * n_ids, n_ids, token[i + 1], &is_first);
        to->is_greedy &= is_first;
        to->n_scored++;
    }
    return NULL;
}

/* Documents [first, first + n_at_once). */
static Error *score_round(Arena *a, const Scoring *s, const Pbin *file, const Document *d,
                          int64_t n, int64_t first, DocumentScore *score)
{
    const int64_t own = first + own_place(s);
    int64_t longest = 0;
    for (int64_t i = first; i < n && i < first + n_at_once(s); i++)
        longest = d[i].n > longest ? d[i].n : longest;
    for (int64_t w = 0; w * s->sequence < longest - 1; w++) {
        const Document none = { 0 };
        DocumentScore unused = { 0 };
        TRY(score_window(a, s, file, own < n ? &d[own] : &none, w,
                         window_length(s, longest - 1 - w * s->sequence),
                         own < n ? &score[own] : &unused));
        arena_clear(a);
    }
    return NULL;
}

/* Each rank knows its own; what it does not count is zero to it. */
static Error *share(Arena *a, const Scoring *s, DocumentScore *score, int64_t n)
{
    enum { NUMBERS = 3, AT_ONCE = 1 << 16 };
    double *x = NEW_N(a, double, (int64_t)NUMBERS *AT_ONCE);
    for (int64_t from = 0; s->together && from < n; from += AT_ONCE) {
        const int64_t now = n - from < AT_ONCE ? n - from : AT_ONCE;
        for (int64_t i = 0; i < now; i++) {
            const bool is_own = counts(s) && (from + i) % n_at_once(s) == own_place(s);
            const DocumentScore *d = &score[from + i];
            x[NUMBERS * i] = is_own ? d->log_likelihood : 0;
            x[NUMBERS * i + 1] = is_own ? (double)d->n_scored : 0;
            x[NUMBERS * i + 2] = is_own && !d->is_greedy;
        }
        TRY(consensus_sum(s->together, x, (int)(NUMBERS * now)));
        for (int64_t i = 0; i < now; i++) {
            DocumentScore *d = &score[from + i];
            d->log_likelihood = x[NUMBERS * i];
            d->n_scored = (int64_t)x[NUMBERS * i + 1];
            d->is_greedy = !(x[NUMBERS * i + 2] > 0);
        }
    }
    return NULL;
}

Error *document_scores(Arena *a, const Scoring *s, const Pbin *file, DocumentScore **out,
                       int64_t *n)
{
    IndexEntry *entry;
    TRY(pbin_documents(a, file, &entry, n));
    Document *d = NEW_N(a, Document, *n);
    DocumentScore *score = *out = NEW_N(a, DocumentScore, *n);
    for (int64_t i = 0; i < *n; i++) {
        d[i] = (Document){ (int64_t)entry[i].offset / file->token_bytes,
                           (int64_t)entry[i].length / file->token_bytes };
        score[i] = (DocumentScore){ .n_tokens = d[i].n, .is_greedy = true };
    }
    Arena *scratch = arena_new();
    Error *e = NULL;
    for (int64_t first = 0; !e && first < *n; first += n_at_once(s))
        e = score_round(scratch, s, file, d, *n, first, score);
    e = consensus_error(s->together, e);
    if (!e) e = share(scratch, s, score, *n);
    arena_free(scratch);
    return e;
}
