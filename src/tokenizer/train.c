/* train.c - trains and writes the tokenizer.json. */
#include "tokenizer/train.h"
#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/vocab.h"
#include <jansson.h>
#include <string.h>

static Error *check_settings(const TrainSettings *s)
{
    if (s->vocab_size < 1 || s->vocab_size > MAX_TOKEN_ID) {
        return error_new("vocab_size %lld is not from 1 to %d", (long long)s->vocab_size,
                         MAX_TOKEN_ID);
    }
    for (int64_t i = 0; i < s->n_special_tokens; i++) {
        Str token = str_of(s->special_tokens[i]);
        if (!token.len) return error_new("a special token is empty");
        if (utf8_valid_length(token) < token.len)
            return error_new("special token %lld is no UTF-8", (long long)i + 1);
    }
    return NULL;
}

/* A stage of the byte-level family. */
static json_t *byte_level(bool add_prefix_space, bool trim_offsets)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                     add_prefix_space, "trim_offsets", trim_offsets, "use_regex", true);
}

static json_t *added_tokens(const TrainSettings *s, const TrainedBpe *b)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < s->n_special_tokens; i++) {
        int64_t id = 0; /* special tokens come first; one may be named twice */
        while (strcmp(b->name[id], s->special_tokens[i]) != 0) id++;
        if (id < (int64_t)json_array_size(list)) continue;
        json_array_append_new(list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                              (json_int_t)id, "content", b->name[id], "single_word",
                                              false, "lstrip", false, "rstrip", false, "normalized",
                                              false, "special", true));
    }
    return list;
}

static json_t *model(const TrainedBpe *b)
{
    json_t *vocab = json_object(), *merges = json_array();
    for (int64_t id = 0; id < b->n_ids; id++)
        json_object_set_new(vocab, b->name[id], json_integer(id));
    for (int64_t i = 0; i < b->n_merges; i++) {
        json_array_append_new(
            merges, json_sprintf("%s %s", b->name[b->merge[i][0]], b->name[b->merge[i][1]]));
    }
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                     "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                     false, "byte_fallback", false, "ignore_merges", false, "vocab", vocab,
                     "merges", merges);
}

static Error *write_json(const TrainSettings *s, const TrainedBpe *b, const char *path)
{
    json_t *root =
        json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:o}", "version", "1.0", "truncation",
                  "padding", "added_tokens", added_tokens(s, b), "normalizer", "pre_tokenizer",
                  byte_level(s->add_prefix_space, true), "post_processor", byte_level(true, false),
                  "decoder", byte_level(true, true), "model", model(b));
    CHECK(root != NULL);
    NewFile f;
    Error *e = file_create(path, &f);
    if (!e) {
        bool written =
            json_dumpf(root, f.stream, JSON_INDENT(2)) == 0 && fputc('\n', f.stream) != EOF;
        if (written) {
            e = file_commit(&f);
        } else {
            e = error_new("cannot write %s", path);
            file_abandon(&f);
        }
    }
    json_decref(root);
    return e;
}

Error *tokenizer_train(const TrainSettings *s, const char *output_path, TrainSummary *summary)
{
    *summary = (TrainSummary){ 0 };
    TRY(check_settings(s));
    WordCounts words;
    TrainedBpe trained;
    Arena *a = arena_new();
    Error *e = train_count(s, &words, summary);
    if (!e) e = train_merges(a, s, &words, &trained, summary);
    if (!e) e = write_json(s, &trained, output_path);
    word_counts_free(&words);
    arena_free(a);
    return e;
}
