/* test_golden_training.c - merges and vocabularies learnt from the same files as the library's. */
#include "golden.h"
#include "tokenizer/train_bpe.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME,
    FILE_NAME,
    MODE,
    PRE,
    VOCAB_SIZE,
    MIN_FREQUENCY,
    SPECIAL,
    ALPHABET,
    MAX_LENGTH,
    N_COLUMNS
};

typedef struct Row {
    const char *column[N_COLUMNS];
} Row;

static int64_t read_rows(Arena *a, Row **out)
{
    Str text;
    assert_no_error(
        file_read(a, shared_path(a, "data/goldens/tokenizers/training/training.tsv"), &text));
    int64_t n = 0, cap = 0;
    *out = NULL;
    for (char *line = strchr(text.ptr, '\n') + 1, *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        *end = 0;
        *out = arena_grow(a, *out, n, &cap, sizeof **out);
        Row *r = &(*out)[n++];
        for (int k = 0; k < N_COLUMNS; k++) {
            r->column[k] = line;
            line += strcspn(line, "\t");
            *line++ = 0;
        }
    }
    return n;
}

GOLDEN_CASES(training_cases)
{
    Row *row;
    int64_t n = read_rows(to->arena, &row);
    for (int64_t i = 0; i < n; i++) golden_add(to, "tokenizers/training/%s", row[i].column[NAME]);
}

static TrainSettings settings_of(Arena *a, const Row *r)
{
    const char **path = NEW(a, const char *);
    *path = shared_path(a, arena_printf(a, "data/text/%s", r->column[FILE_NAME]));
    TrainSettings s = {
        .corpus = { .path = path, .n_paths = 1 },
        .vocab_size = atoll(r->column[VOCAB_SIZE]),
        .bpe = { .min_frequency = atoll(r->column[MIN_FREQUENCY]),
                 .all_bytes = !strcmp(r->column[ALPHABET], "bytes"),
                 .max_token_length = atoll(r->column[MAX_LENGTH]) },
    };
    s.corpus.format = strcmp(r->column[MODE], "lines") ? CORPUS_WHOLE : CORPUS_LINES;
    json_t *special = json_loads(r->column[SPECIAL], 0, NULL);
    const char **token = NEW_N(a, const char *, json_array_size(special));
    for (size_t i = 0; i < json_array_size(special); i++) {
        token[s.bpe.n_special_tokens++] =
            arena_string(a, json_string_value(json_array_get(special, i)));
    }
    s.bpe.special_tokens = token;
    json_decref(special);
    return s;
}

/* Compares the lines of a file of the goldens with those of `got`. */
static void assert_lines(Arena *a, const Row *r, const char *suffix, const Text *got)
{
    Str expected;
    const char *file =
        arena_printf(a, "data/goldens/tokenizers/training/%s.%s", r->column[NAME], suffix);
    assert_no_error(file_read(a, shared_path(a, file), &expected));
    const char *p = got->ptr, *q = expected.ptr;
    for (int line = 1; *p || *q; line++) {
        size_t n = strcspn(p, "\n"), m = strcspn(q, "\n");
        if (n != m || memcmp(p, q, n)) {
            fail_msg("%s line %d: \"%.*s\", expected \"%.*s\"", file, line, (int)n, p, (int)m, q);
        }
        p += n + (p[n] == '\n');
        q += m + (q[m] == '\n');
    }
}

TEST(golden_trainings_give_the_merges_and_ids_of_the_library)
{
    Arena *a = arena_new();
    Row *row;
    int64_t n = read_rows(a, &row), n_run = 0;
    for (int64_t i = 0; i < n; i++) {
        if (golden_later(a, arena_printf(a, "tokenizers/training/%s", row[i].column[NAME])))
            continue;
        TrainSettings s = settings_of(a, &row[i]);
        TrainSummary summary = { 0 };
        WordCounts words;
        TrainedBpe b;
        assert_no_error(train_count(&trainer_bpe, &s, &words, &summary));
        assert_no_error(train_merges(a, &s, &words, &b, &summary));
        Text merges = { 0 }, vocab = { 0 };
        for (int64_t k = 0; k < b.n_merges; k++) {
            text_printf(&merges, "%s %s\n", b.name[b.merge[k][0]], b.name[b.merge[k][1]]);
        }
        for (int64_t id = 0; id < b.n_ids; id++) text_printf(&vocab, "%s\n", b.name[id]);
        assert_lines(a, &row[i], "merges.txt", &merges);
        assert_lines(a, &row[i], "vocab.txt", &vocab);
        text_free(&merges);
        text_free(&vocab);
        word_counts_free(&words);
        n_run++;
    }
    assert_true(n_run >= 5);
    arena_free(a);
}
