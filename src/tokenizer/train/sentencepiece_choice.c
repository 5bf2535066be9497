/* sentencepiece_choice.c - which lines are learnt from when only so many are wanted: those that
 * come first in an order by chance, or in that of the corpus. */
#include "tokenizer/train/sentencepiece.h"
#include <stdlib.h>
#include <string.h>

/* The least numbers of sp_sentence_order, at most twice as many as are wanted. */
typedef struct Choice {
    const TrainSettings *settings;
    const SpPrepared *prepared;
    Buffer *found; /* by thread: uint64_t of this stretch */
    int64_t *n_found;
    Buffer all;
    int64_t n_all, wanted;
    uint64_t most; /* greater ones are not among them */
} Choice;

typedef struct Line {
    Choice *choice;
    int thread;
} Line;

static void look_at_line(void *arg, Str line, int64_t place)
{
    const Line *l = arg;
    Choice *c = l->choice;
    const SpTrainSettings *s = &c->settings->sentencepiece;
    uint64_t order = sp_sentence_order(s, place);
    if (order > c->most || !sp_sentence_is_good(s, c->prepared, line)) return;
    uint64_t *found =
        buffer_grow(&c->found[l->thread], (size_t)(c->n_found[l->thread] + 1) * sizeof *found);
    found[c->n_found[l->thread]++] = order;
}

static Error *look_at_text(void *arg, int thread, Str text, int64_t place, bool is_start)
{
    (void)is_start;
    sp_sentences(text, place, look_at_line, &(Line){ arg, thread });
    return NULL;
}

static int by_order(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static void keep_least(Choice *c)
{
    if (c->n_all <= c->wanted) return;
    uint64_t *all = c->all.ptr;
    qsort(all, (size_t)c->n_all, sizeof *all, by_order);
    c->n_all = c->wanted;
    c->most = all[c->wanted - 1];
}

static void join_found(Choice *c, int n_threads)
{
    for (int t = 0; t < n_threads; t++) {
        uint64_t *all = buffer_grow(&c->all, (size_t)(c->n_all + c->n_found[t]) * sizeof *all);
        if (c->n_found[t])
            memcpy(all + c->n_all, c->found[t].ptr, (size_t)c->n_found[t] * sizeof *all);
        c->n_all += c->n_found[t];
        c->n_found[t] = 0;
        if (c->n_all > 2 * c->wanted) keep_least(c);
    }
}

/* Bad lines are told of when words are counted. */
static Error *ignore_bad(void *arg, BadText bad)
{
    (void)arg;
    error_free(bad.reason);
    return NULL;
}

static Error *choose_all(Choice *c, Corpus *corpus, int n_threads)
{
    for (bool some = true; some;) {
        TRY(corpus_next(corpus, look_at_text, c, &some));
        join_found(c, n_threads);
        CorpusDone done = corpus_done(corpus);
        TRY(train_step(c->settings, "choosing lines", done.stored_bytes, done.stored_total));
    }
    keep_least(c);
    return NULL;
}

Error *sp_choose_lines(const TrainSettings *s, SpPrepared *p)
{
    p->sentence_key = UINT64_MAX;
    if (!s->sentencepiece.input_sentence_size) return NULL;
    Arena *a = arena_new();
    Pool *pool = pool_new(s->n_threads);
    Choice c = { .settings = s, .prepared = p, .most = UINT64_MAX };
    c.wanted = s->sentencepiece.input_sentence_size;
    c.found = NEW_N(a, Buffer, pool_size(pool));
    c.n_found = NEW_N(a, int64_t, pool_size(pool));
    CorpusSettings settings = s->corpus;
    settings.bad_text = ignore_bad;
    Corpus *corpus;
    Error *e = corpus_open(&settings, pool, &corpus);
    if (!e) {
        e = choose_all(&c, corpus, pool_size(pool));
        corpus_close(corpus);
    }
    p->sentence_key = c.most;
    atomic_store(p->n_too_long, 0); /* they are met again */
    atomic_store(p->n_reserved, 0);
    for (int t = 0; t < pool_size(pool); t++) buffer_free(&c.found[t]);
    buffer_free(&c.all);
    pool_free(pool);
    arena_free(a);
    return e;
}
