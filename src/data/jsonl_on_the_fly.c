/* jsonl_on_the_fly.c - dataset.jsonl_on_the_fly: the blocks that packing would give, without
 * packing.
 *
 * Tokens are counted once per line, so the lines of a block are known; they are tokenized when the
 * block is asked for, in the thread that asks. */
#include "base/file.h"
#include "config/builder.h"
#include "data/datasets.h"
#include "data/token_counts.h"
#include <string.h>

typedef struct OnTheFly {
    Dataset base;
    Jsonl source;
    IndexEntry *line;
    int64_t n_lines;
    int64_t *first; /* tokens before each line; n_lines + 1 */
    LineReaders *readers;
    const char *sample_key, *counts_path;
    int64_t block, stride;
    int64_t *start; /* megatron: first token of each sample; NULL: they have one distance */
    int64_t n;
} OnTheFly;

static int64_t count(const Dataset *self)
{
    return ((const OnTheFly *)self)->n;
}

static int64_t start_of(const OnTheFly *d, int64_t index)
{
    return d->start ? d->start[index] : index * d->stride;
}

/* The line that token `at` belongs to. */
static int64_t line_of(const OnTheFly *d, int64_t at)
{
    int64_t low = 0, high = d->n_lines; /* first[low] <= at < first[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (d->first[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    const OnTheFly *d = (const OnTheFly *)self;
    int64_t at = start_of(d, index), line = line_of(d, at);
    text_printf(out, "%s, sample %lld (tokens %lld to %lld, from byte %lld on)", d->source.path,
                (long long)index, (long long)at, (long long)at + d->block,
                (long long)d->line[line].offset);
}

/* The tokens of a line in r->ids. */
static Error *read_line(const OnTheFly *d, LineReader *r, int64_t line)
{
    Str text;
    int64_t column, expected = d->first[line + 1] - d->first[line];
    if (r->line == line) return NULL;
    TRY(jsonl_line(&d->source, d->line[line], &text));
    TRY(line_reader_run(r, text, &column));
    if (r->ids.n != expected)
        return error_new("byte %lld: a line of %lld tokens, but %s says %lld: the file or the "
                         "tokenizer has changed since they were counted; remove the counts",
                         (long long)d->line[line].offset, (long long)r->ids.n, d->counts_path,
                         (long long)expected);
    r->line = line;
    return NULL;
}

static Error *read_block(const OnTheFly *d, LineReader *r, int64_t at, int32_t *to)
{
    const int64_t end = at + d->block;
    for (int64_t line = line_of(d, at); at < end; line++) {
        int64_t stop = d->first[line + 1] < end ? d->first[line + 1] : end;
        if (stop <= at) continue; /* a line that was left out */
        TRY(read_line(d, r, line));
        memcpy(to, r->ids.id + (at - d->first[line]), sizeof *to * (size_t)(stop - at));
        to += stop - at;
        at = stop;
    }
    return NULL;
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const OnTheFly *d = (const OnTheFly *)self;
    CHECK(index >= 0 && index < d->n);
    int64_t at = start_of(d, index);
    int32_t *tokens = NEW_N(scratch, int32_t, d->block);
    LineReader *r;
    TRY(line_reader_take(d->readers, line_of(d, at), &r));
    Error *e = read_block(d, r, at, tokens);
    line_reader_give_back(r);
    if (e) return error_wrap(e, "%s", d->source.path);
    Tensor t = { .data = tokens, .dtype = I32, .n_dims = 1, .size = { d->block } };
    *out = (Sample){ .n = 1, .item = { { d->sample_key, t } } };
    return NULL;
}

/* ---- opening ---- */

static Error *find_samples(Arena *a, const JsonlOnTheFly *s, OnTheFly *d)
{
    int64_t n_tokens = d->first[d->n_lines];
    if (s->blocks == BLOCKS_MEGATRON)
        d->start = megatron_starts(a, d->first, d->n_lines, d->block, &d->n);
    else
        d->n = packed_continuous_count(n_tokens, s->sequence_length, s->reuse_last_target);
    if (d->n) return NULL;
    return error_new("%s has %lld tokens, less than one sample of %lld", s->raw_data_path,
                     (long long)n_tokens, (long long)d->block);
}

static Error *find_eod(const JsonlOnTheFly *s, int64_t *out)
{
    *out = s->tokenizer->token_id(s->tokenizer, str_of(s->eod_token));
    if (*out >= 0) return NULL;
    return error_new("eod_token '%s' is no token of the tokenizer (a %s vocabulary of %lld tokens)",
                     s->eod_token, s->tokenizer->kind, (long long)s->tokenizer->vocab_size);
}

Error *jsonl_on_the_fly_open(Arena *a, const JsonlOnTheFly *s, Dataset **out)
{
    OnTheFly *d = NEW(a, OnTheFly);
    int64_t eod;
    *d = (OnTheFly){ .base = { .count = count, .get = get, .describe = describe },
                     .sample_key = arena_string(a, s->sample_key),
                     .counts_path = s->counts_path
                                        ? arena_string(a, s->counts_path)
                                        : path_with_suffix(a, s->raw_data_path, ".counts"),
                     .block = s->sequence_length + s->reuse_last_target,
                     .stride = s->sequence_length };
    TRY(find_eod(s, &eod));
    TRY(jsonl_open(a, s->raw_data_path, s->index_path, &d->source));
    TRY(line_readers_new(a, s->tokenizer, s->jq_pattern, eod, s->max_line_bytes, &d->readers));
    d->n_lines = index_count(d->source.index);
    d->line = index_read_all(a, d->source.index);
    TRY(token_counts(a,
                     &(CountSettings){ .source = &d->source,
                                       .line = d->line,
                                       .n_lines = d->n_lines,
                                       .tokenizer = s->tokenizer,
                                       .jq_pattern = s->jq_pattern,
                                       .eod = eod,
                                       .max_line_bytes = s->max_line_bytes,
                                       .readers = d->readers,
                                       .counts_path = d->counts_path,
                                       .on_bad_line = (BadLinePolicy)s->on_bad_line,
                                       .n_threads = (int)s->num_threads },
                     &d->first));
    *out = &d->base;
    return find_samples(a, s, d);
}

static const char *const block_rules[] = { "continuous", "megatron", NULL };

enum { MOST_THREADS = 1024 };

/* clang-format off */
static const Field fields[] = {
    FIELD_PATH(JsonlOnTheFly, raw_data_path, NULL, "file of JSON lines", .flags = FIELD_EXISTS),
    FIELD_PATH(JsonlOnTheFly, index_path, "null", "its index; null: beside it, with the suffix .idx", .flags = FIELD_EXISTS),
    FIELD_PATH(JsonlOnTheFly, counts_path, "null", "keeps the tokens per line, counted at first use; null: beside raw_data_path, with the suffix .counts", .role = PATH_CACHE),
    FIELD_COMPONENT(JsonlOnTheFly, tokenizer, Tokenizer, "tokenizer", NULL, "makes the tokens"),
    FIELD_STRING(JsonlOnTheFly, jq_pattern, NULL, "finds the text in a line"),
    FIELD_STRING(JsonlOnTheFly, eod_token, NULL, "token that ends every document"),
    FIELD_INT(JsonlOnTheFly, sequence_length, NULL, 2, INFINITY, "inputs of a sample", .flags = FIELD_STRICT),
    FIELD_STRING(JsonlOnTheFly, sample_key, NULL, "name of the tokens in a sample"),
    FIELD_BOOL(JsonlOnTheFly, reuse_last_target, "true", "a sample has one token more, which begins the next sample"),
    FIELD_CHOICE(JsonlOnTheFly, blocks, "continuous", block_rules, "samples of equal distance, or such that begin with a document"),
    FIELD_CHOICE(JsonlOnTheFly, on_bad_line, "stop", bad_line_policies, "what a line that is no JSON or has no text does"),
    FIELD_INT(JsonlOnTheFly, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line"),
    FIELD_INT(JsonlOnTheFly, num_threads, "0", 0, MOST_THREADS, "for counting; 0: one per core", .no_effect = "it only changes the speed"),
    { 0 },
};
/* clang-format on */

static Error *check(const void *settings)
{
    const JsonlOnTheFly *s = settings;
    if (s->blocks == BLOCKS_MEGATRON && !s->reuse_last_target)
        return error_new("reuse_last_target: false is for continuous blocks; megatron blocks have "
                         "one token more than sequence_length");
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    return jsonl_on_the_fly_open(builder_arena(b), settings, (Dataset **)out);
}

const ComponentDef dataset_jsonl_on_the_fly = {
    .kind = "dataset",
    .variant = "jsonl_on_the_fly",
    .doc =
        "the samples of a packed file straight from JSON lines, tokenized in the loader's threads",
    .fields = fields,
    .settings_size = sizeof(JsonlOnTheFly),
    .check = check,
    .build = build,
    .leaves_files = true,
};
