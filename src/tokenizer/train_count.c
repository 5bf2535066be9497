/* train_count.c - counts the words of a corpus.
 *
 * Threads claim blocks and count into tables of their own. After each round, a fixed number of
 * blocks, the tables are joined and, if there are too many words, the rarest forgotten: so what is
 * forgotten depends on the corpus alone. */
#include "base/file.h"
#include "base/signal.h"
#include "base/thread.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/train.h"

enum { GROUP_BLOCKS = 16, ROUND_GROUPS = 16 }; /* progress every 64 MiB, joining every 1 GiB */

typedef struct Counter {
    WordCounts words;
    Buffer text; /* with slack for the splitter */
    uint32_t *end;
    PreTokenizer pretokenizer;
} Counter;

typedef struct Counting {
    const Corpus *corpus;
    Counter *counter; /* by thread */
    int64_t first;    /* block of this group */
    CorpusBlock block[GROUP_BLOCKS];
    Error *error[GROUP_BLOCKS];
} Counting;

static void count_text(void *arg, Str text)
{
    Counter *c = arg;
    if (!text.len) return;
    Str s = pretokenizer_place(&c->pretokenizer, text, &c->text);
    uint32_t len = (uint32_t)s.len;
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = c->pretokenizer.split(s.ptr, len, from, until, c->end);
        for (int64_t i = 0; i < n; i++) {
            word_counts_add(&c->words, s.ptr + from, c->end[i] - from, 1);
            from = c->end[i];
        }
    }
}

static void count_block(void *arg, int64_t i, int thread)
{
    Counting *c = arg;
    c->error[i] =
        corpus_read(c->corpus, c->first + i, count_text, &c->counter[thread], &c->block[i]);
}

/* The first error in the order of the corpus; frees the others. */
static Error *first_error(Counting *c, int64_t n)
{
    Error *first = NULL;
    for (int64_t i = 0; i < n; i++) {
        if (first)
            error_free(c->error[i]);
        else
            first = c->error[i];
    }
    return first;
}

static Error *count_group(Counting *c, Pool *pool, int64_t n, TrainSummary *summary)
{
    pool_run(pool, n, count_block, c);
    TRY(first_error(c, n));
    for (int64_t i = 0; i < n; i++) {
        summary->n_bytes += c->block[i].n_bytes;
        summary->n_texts += c->block[i].n_texts;
        summary->n_skipped += c->block[i].n_skipped;
    }
    if (signal_stop_requested()) return error_new("stopped by a signal; nothing was written");
    return NULL;
}

static void join(Counting *c, int n_threads, const TrainSettings *s, WordCounts *out,
                 TrainSummary *summary)
{
    for (int t = 0; t < n_threads; t++) {
        word_counts_merge(out, &c->counter[t].words);
        word_counts_clear(&c->counter[t].words);
    }
    if (!s->max_words || out->n <= s->max_words) return;
    int64_t dropped = word_counts_drop_rare(out, s->max_words / 2);
    if (dropped > summary->dropped_count) summary->dropped_count = dropped;
}

static Error *count_all(const TrainSettings *s, Counting *c, Pool *pool, WordCounts *out,
                        TrainSummary *summary)
{
    int64_t n_blocks = c->corpus->n_blocks;
    for (int64_t group = 0; c->first < n_blocks; group++) {
        int64_t left = n_blocks - c->first, n = left < GROUP_BLOCKS ? left : GROUP_BLOCKS;
        TRY(count_group(c, pool, n, summary));
        c->first += n;
        if (s->progress.show) {
            s->progress.show(s->progress.arg, "counting words", summary->n_bytes,
                             c->corpus->n_bytes);
        }
        if (group % ROUND_GROUPS == ROUND_GROUPS - 1) join(c, pool_size(pool), s, out, summary);
    }
    join(c, pool_size(pool), s, out, summary);
    summary->n_words = out->n;
    return out->n ? NULL : error_new("the files hold no text to learn from");
}

Error *train_count(const TrainSettings *s, WordCounts *out, TrainSummary *summary)
{
    Arena *a = arena_new();
    Corpus corpus;
    *out = (WordCounts){ 0 };
    WordSplitter *split;
    Error *e = split_gpt2_choose(&split);
    if (!e) e = corpus_open(a, &s->corpus, &corpus);
    if (!e) {
        Pool *pool = pool_new(s->n_threads);
        int n = pool_size(pool);
        Counting c = { .corpus = &corpus, .counter = NEW_N(a, Counter, n) };
        for (int t = 0; t < n; t++) {
            c.counter[t].end = NEW_N(a, uint32_t, SPLIT_ROOM);
            c.counter[t].pretokenizer =
                (PreTokenizer){ .add_prefix_space = s->add_prefix_space, .split = split };
        }
        e = count_all(s, &c, pool, out, summary);
        for (int t = 0; t < n; t++) {
            word_counts_free(&c.counter[t].words);
            buffer_free(&c.counter[t].text);
        }
        pool_free(pool);
    }
    arena_free(a);
    if (e) word_counts_free(out);
    return e;
}
