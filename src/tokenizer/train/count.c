/* count.c - counts the words of a corpus.
 *
 * Threads count into tables of their own. After some stretches of the corpus the tables are joined
 * and, if there are too many words, the rarest forgotten: so what is forgotten depends on the
 * corpus alone. */
#include "tokenizer/train/train.h"

enum { ROUND_STRETCHES = 8 }; /* of up to 128 MiB */

typedef struct Counter {
    WordCounts words;
    WordCutter *cutter;
} Counter;

typedef struct Counting {
    const TrainSettings *settings;
    Corpus *corpus;
    Counter *counter; /* by thread */
    int n_threads;
    WordCounts *all;
    TrainSummary *summary;
} Counting;

static Error *count_text(void *arg, int thread, Str text, int64_t place, bool is_start)
{
    Counter *c = &((Counting *)arg)->counter[thread];
    c->cutter->place = place;
    return c->cutter->cut(c->cutter, text, is_start, &c->words);
}

static void join(Counting *c)
{
    for (int t = 0; t < c->n_threads; t++) {
        word_counts_merge(c->all, &c->counter[t].words);
        word_counts_clear(&c->counter[t].words);
    }
    int64_t most = c->settings->max_words;
    if (!most || c->all->n <= most) return;
    int64_t dropped = word_counts_drop_rare(c->all, most / 2);
    if (dropped > c->summary->dropped_count) c->summary->dropped_count = dropped;
}

static Error *count_all(Counting *c)
{
    TrainSummary *s = c->summary;
    bool some = true;
    for (int64_t i = 1; some; i++) {
        TRY(corpus_next(c->corpus, count_text, c, &some));
        CorpusDone done = corpus_done(c->corpus);
        s->n_bytes = done.n_bytes;
        s->n_texts = done.n_texts;
        s->n_skipped = done.n_bad;
        TRY(train_step(c->settings, "counting words", done.stored_bytes, done.stored_total));
        if (i % ROUND_STRETCHES == 0) join(c);
    }
    join(c);
    s->n_words = c->all->n;
    return c->all->n ? NULL : error_new("the files hold no text to learn from");
}

static Error *cutters_new(Arena *a, const TrainerKind *kind, Counting *c)
{
    for (int t = 0; t < c->n_threads; t++)
        TRY(kind->cutter_new(a, c->settings, &c->counter[t].cutter));
    return NULL;
}

Error *train_count(const TrainerKind *kind, const TrainSettings *s, WordCounts *out,
                   TrainSummary *summary)
{
    Arena *a = arena_new();
    Pool *pool = pool_new(s->n_threads);
    *out = (WordCounts){ 0 };
    Counting c = { .settings = s, .n_threads = pool_size(pool), .all = out, .summary = summary };
    c.counter = NEW_N(a, Counter, c.n_threads);
    Error *e = cutters_new(a, kind, &c);
    if (!e) e = corpus_open(&s->corpus, pool, &c.corpus);
    if (!e) {
        e = count_all(&c);
        corpus_close(c.corpus);
    }
    for (int t = 0; t < c.n_threads; t++) {
        WordCutter *cutter = c.counter[t].cutter;
        word_counts_free(&c.counter[t].words);
        if (cutter) cutter->free(cutter);
    }
    pool_free(pool);
    arena_free(a);
    if (e) word_counts_free(out);
    return e;
}
