/* test_golden_training.c - merges and vocabularies learnt from the same files as the library's. */
#include "golden.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/train/bpe.h"
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
    PREFIX,
    SUFFIX,
    N_MERGES,
    N_IDS,
    VOCAB_ORDER,
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
            if (*line) *line++ = 0;
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

static const char *given(const char *column)
{
    return strcmp(column, "-") ? column : NULL;
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
                 .max_token_length = atoll(r->column[MAX_LENGTH]),
                 .prefix = given(r->column[PREFIX]),
                 .suffix = given(r->column[SUFFIX]) },
    };
    if (!strcmp(r->column[PRE], "whitespace_split")) s.bpe.pre_tokenizer = TRAIN_WHITESPACE_SPLIT;
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
            text_printf(&merges, "%s %s\n", b.names.name[b.merge[k][0]].ptr,
                        b.names.name[b.merge[k][1]].ptr);
        }
        for (int64_t id = 0; id < b.names.n; id++)
            text_printf(&vocab, "%s\n", b.names.name[id].ptr);
        assert_lines(a, &row[i], "merges.txt", &merges);
        if (!strcmp(row[i].column[VOCAB_ORDER], "fixed"))
            assert_lines(a, &row[i], "vocab.txt", &vocab);
        assert_int_equal(b.names.n, atoll(row[i].column[N_IDS]));
        text_free(&merges);
        text_free(&vocab);
        word_counts_free(&words);
        n_run++;
    }
    assert_true(n_run >= 6);
    arena_free(a);
}

static int64_t count_tokens(const Tokenizer *t, Str text)
{
    Ids ids = { 0 };
    Encoder *e = t->encoder_new(t);
    assert_no_error(t->encode(e, text, false, &ids));
    t->encoder_free(e);
    int64_t n = ids.n;
    ids_free(&ids);
    return n;
}

/* The order of ids, and ties between pairs, depend on the order of a hash table there. */
TEST(a_trained_wordpiece_has_the_tokens_of_the_library)
{
    Arena *a = arena_new();
    const char *corpus = shared_path(a, "data/text/tinyshakespeare.txt");
    const char *out = path_join(a, test_folder(), "tokenizer.json");
    static const char *const special[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
    TrainSettings s = { .corpus = { .path = &corpus, .n_paths = 1 }, .vocab_size = 1000 };
    s.bpe = (BpeTrainSettings){ .min_frequency = 2,
                                .special_tokens = special,
                                .n_special_tokens = 5,
                                .unk_token = "[UNK]",
                                .prefix = "##",
                                .pre_tokenizer = TRAIN_BERT,
                                .normalizer = TRAIN_BERT_NORMALIZER,
                                .clean_text = true,
                                .handle_chinese_chars = true,
                                .strip_accents = true,
                                .lowercase = true };
    TrainSummary summary;
    assert_no_error(tokenizer_train(&trainer_wordpiece, &s, out, &summary));
    Tokenizer *ours, *library;
    const char *info = "data/goldens/tokenizers/training/info/wordpiece_1000.tokenizer.json";
    assert_no_error(tokenizer_open(out, &ours));
    assert_no_error(tokenizer_open(shared_path(a, info), &library));
    assert_int_equal(ours->n_ids, library->n_ids);
    for (uint32_t id = 0; id < library->n_ids; id++) {
        Str name;
        assert_true(library->token_name(library, id, &name));
        assert_true(ours->token_id(ours, name) >= 0);
    }
    Str text;
    assert_no_error(file_read(a, corpus, &text));
    assert_int_equal(count_tokens(ours, text), count_tokens(library, text));
    ours->close(ours);
    library->close(library);
    arena_free(a);
}
