/* jsonl_index.c - writes the index of a file of JSON lines, with all cores.
 *
 * The text is cut into blocks of equal size; a block's lines are those that begin in it. A round
 * checks some blocks per thread, while one task puts the entries of the round before into the index
 * in order. What a block has found is held in a few bytes per line, so memory does not grow with
 * the file. */
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/jsonl.h"
#include "data/progress.h"
#include <string.h>

enum { BLOCK_BYTES = 1 << 18, BLOCKS_PER_THREAD = 16 };

/* A line that is left out, counted from the start of its block. */
typedef struct BadPlace {
    uint32_t line, offset;
    int64_t length, column;
    const char *reason; /* a constant; NULL: too long */
} BadPlace;

/* What is known of the lines of one block. */
typedef struct LineBlock {
    Buffer entries, places;
    int64_t n_entries, n_places, n_lines;
} LineBlock;

/* The blocks of one round. */
typedef struct Round {
    int64_t first, n;
    LineBlock *block;
} Round;

typedef struct Indexing {
    const char *source;
    Str text;
    BadLines *bad;
    IndexWriter writer;
    IndexSummary summary;
    Round round, last;
    int64_t first_block, end_block; /* of this rank */
    int64_t lines_before;
    Error *error; /* of putting the last round into the index */
} Indexing;

static bool is_blank(Str line)
{
    size_t n = 0;
    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t' || line.ptr[n] == '\r')) n++;
    return n == line.len;
}

/* ---- the lines of a block ---- */

static const char *newline_or_end(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline : end;
}

static int64_t block_from(const Indexing *x, int64_t i)
{
    int64_t from = i * BLOCK_BYTES, len = (int64_t)x->text.len;
    return from < len ? from : len;
}

/* False when the work ends with this line. */
static bool check_line(const Indexing *x, LineBlock *b, const char *block_text, Str line)
{
    JsonFault fault = { -1, NULL };
    bool too_long = (int64_t)line.len > x->bad->max_line_bytes;
    b->n_lines++;
    if (!too_long && json_check(line, SURROGATES_PASS, &fault)) {
        IndexEntry *entry = buffer_grow(&b->entries, sizeof *entry * (size_t)(b->n_entries + 1));
        entry[b->n_entries++] = (IndexEntry){ line.ptr - x->text.ptr, (int64_t)line.len };
        return true;
    }
    if (!too_long && is_blank(line)) fault.reason = "an empty line is not JSON";
    BadPlace *place = buffer_grow(&b->places, sizeof *place * (size_t)(b->n_places + 1));
    place[b->n_places++] = (BadPlace){ .line = (uint32_t)(b->n_lines - 1),
                                       .offset = (uint32_t)(line.ptr - block_text),
                                       .length = (int64_t)line.len,
                                       .column = fault.offset,
                                       .reason = fault.reason };
    return x->bad->policy == BAD_LINE_SKIP;
}

/* A line is looked at as far as a line may be long, and no further than the text. */
static void check_block(const Indexing *x, int64_t i, LineBlock *b)
{
    const char *const from = x->text.ptr + block_from(x, i), *p = from,
                      *to = x->text.ptr + block_from(x, i + 1), *end = x->text.ptr + x->text.len;
    b->n_entries = b->n_places = b->n_lines = 0;
    if (i && p[-1] != '\n') p = newline_or_end(p, to) + 1;
    while (p < to) {
        int64_t most = x->bad->max_line_bytes;
        const char *stop = newline_or_end(p, end - p > most ? p + most + 1 : end);
        if (!check_line(x, b, from, (Str){ p, (size_t)(stop - p) })) break;
        if (stop < to && *stop != '\n') stop = newline_or_end(stop, to); /* after the limit */
        p = stop + 1;
    }
}

/* ---- all of them ---- */

static Error *refuse(Indexing *x, const char *block_text, const BadPlace *bad)
{
    Str line = { block_text + bad->offset, (size_t)bad->length };
    int64_t number = x->lines_before + x->summary.n_lines + bad->line + 1;
    Error *reason = bad->reason ? error_new("%s", bad->reason)
                                : line_too_long(bad->length, x->bad->max_line_bytes);
    x->summary.n_bad++;
    return bad_lines_add(x->bad, x->source, number, line.ptr - x->text.ptr, line, bad->column,
                         reason);
}

static Error *put_block(Indexing *x, int64_t i, const LineBlock *b)
{
    const IndexEntry *entry = b->entries.ptr;
    const BadPlace *place = b->places.ptr;
    for (int64_t k = 0; k < b->n_entries; k++)
        index_add(&x->writer, entry[k].offset, entry[k].length);
    for (int64_t k = 0; k < b->n_places; k++)
        TRY(refuse(x, x->text.ptr + block_from(x, i), &place[k]));
    x->summary.n_lines += b->n_lines;
    return NULL;
}

static Error *put_round(Indexing *x, const Round *r)
{
    for (int64_t i = 0; i < r->n; i++) TRY(put_block(x, r->first + i, &r->block[i]));
    file_view_done(x->text.ptr + block_from(x, r->first),
                   x->text.ptr + block_from(x, r->first + r->n));
    return NULL;
}

static void run_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    Indexing *x = arg;
    if (i == 0)
        x->error = put_round(x, &x->last);
    else
        check_block(x, x->round.first + i - 1, &x->round.block[i - 1]);
}

static Error *run_rounds(Indexing *x, Pool *pool, int64_t most)
{
    const int64_t begin = block_from(x, x->first_block);
    CommandProgress progress =
        progress_start("indexing", block_from(x, x->end_block) - begin, PROGRESS_BYTES);
    while (x->round.first < x->end_block) {
        int64_t left = x->end_block - x->round.first;
        x->round.n = left < most ? left : most;
        pool_run(pool, x->round.n + 1, run_task, x);
        TRY(x->error);
        if (signal_stop_requested())
            return error_stopped("stopped by a signal; no index was written");
        Round done = x->round;
        x->round = (Round){ done.first + done.n, 0, x->last.block };
        x->last = done;
        progress_update(&progress, block_from(x, x->round.first) - begin);
    }
    progress_end(&progress);
    return put_round(x, &x->last);
}

static Error *index_empty_file(Indexing *x)
{
    x->summary = (IndexSummary){ .n_lines = 1, .n_bad = 1 };
    return bad_lines_add(x->bad, x->source, 1, 0, x->text, 0,
                         error_new("an empty line is not JSON"));
}

static Error *index_lines(Indexing *x)
{
    if (!x->text.len) return index_empty_file(x);
    Arena *a = arena_new();
    Pool *pool = pool_new(0);
    int64_t most = (int64_t)pool_size(pool) * BLOCKS_PER_THREAD;
    LineBlock *blocks = NEW_N(a, LineBlock, 2 * most);
    x->round = (Round){ .first = x->first_block, .block = blocks };
    x->last = (Round){ .first = x->first_block, .block = blocks + most };
    Error *e = run_rounds(x, pool, most);
    for (int64_t i = 0; i < 2 * most; i++) {
        buffer_free(&blocks[i].entries);
        buffer_free(&blocks[i].places);
    }
    pool_free(pool);
    arena_free(a);
    return e;
}

static Error *write_index(Indexing *x, const char *index_path)
{
    NewFile file;
    TRY(file_create(index_path, &file));
    index_begin(&x->writer, file.stream);
    Error *e = index_lines(x);
    if (e) {
        index_abandon(&x->writer);
        file_abandon(&file);
        return e;
    }
    index_end(&x->writer);
    return file_commit(&file);
}

static int64_t blocks_of(Str text)
{
    return (int64_t)(text.len / BLOCK_BYTES + (text.len % BLOCK_BYTES != 0));
}

Error *jsonl_write_index_share(const char *source, const char *index_path, const IndexShare *share,
                               BadLines *bad, IndexSummary *out)
{
    double start = clock_seconds();
    Arena *a = arena_new();
    TextInput input = { 0 };
    Error *e = text_input_open(a, source, index_path, &input);
    BadLines stop = { .policy = BAD_LINE_STOP, .max_line_bytes = DEFAULT_MAX_LINE_BYTES };
    Indexing x = { .source = source,
                   .text = input.text,
                   .bad = bad ? bad : &stop,
                   .lines_before = share->lines_before };
    share_range(share->share, blocks_of(x.text), &x.first_block, &x.end_block);
    if (!e) e = write_index(&x, index_path);
    *out = x.summary;
    out->n_bytes = block_from(&x, x.end_block) - block_from(&x, x.first_block);
    arena_free(a);
    out->seconds = clock_seconds() - start;
    return e;
}

Error *jsonl_write_index(const char *source, const char *index_path, BadLines *bad,
                         IndexSummary *out)
{
    return jsonl_write_index_share(source, index_path, &(IndexShare){ { 0, 1 }, 0 }, bad, out);
}

/* A line begins after each newline but the last byte's, and at the beginning. */
Error *jsonl_count_lines(const char *source, Share share, int64_t *out)
{
    Arena *a = arena_new();
    Str text;
    int64_t first, end;
    *out = 0;
    Error *e = file_view(a, source, &text);
    if (!e) {
        const Indexing x = { .text = text };
        share_range(share, blocks_of(text), &first, &end);
        const char *p = text.ptr + block_from(&x, first), *to = text.ptr + block_from(&x, end);
        *out = p == text.ptr && to > p;
        if (p > text.ptr) p--;
        for (; p < to - 1 && (p = memchr(p, '\n', (size_t)(to - 1 - p))); p++) ++*out;
    }
    arena_free(a);
    return e;
}

static Error *add_part(Arena *a, const char *path, IndexWriter *to)
{
    Str bytes;
    IndexReader *part;
    IndexEntry entry;
    TRY(file_view(a, path, &bytes));
    TRY(index_open(a, bytes, path, 0, &part));
    while (index_next(part, &entry)) index_add(to, entry.offset, entry.length);
    return NULL;
}

Error *index_join(const char *const *part, int64_t n, const char *target)
{
    NewFile file;
    IndexWriter w;
    Error *e = NULL;
    TRY(file_create(target, &file));
    index_begin(&w, file.stream);
    for (int64_t i = 0; !e && i < n; i++) {
        Arena *a = arena_new();
        e = add_part(a, part[i], &w);
        arena_free(a);
    }
    if (e) {
        index_abandon(&w);
        file_abandon(&file);
        return e;
    }
    index_end(&w);
    return file_commit(&file);
}
