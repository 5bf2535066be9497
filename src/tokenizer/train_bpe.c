/* train_bpe.c - the trainer `bpe`: a byte-level BPE vocabulary as a tokenizer.json. */
#include "tokenizer/train_bpe.h"
#include "base/utf8.h"
#include "tokenizer/pretokenize.h"
#include <jansson.h>
#include <string.h>

/* ---- the words of GPT-2's pattern ---- */

typedef struct SplitCutter {
    WordCutter base;
    Buffer text; /* with slack for the splitter */
    uint32_t end[SPLIT_ROOM];
    PreTokenizer pretokenizer;
} SplitCutter;

static Error *cut(WordCutter *self, Str text, bool is_start, WordCounts *to)
{
    SplitCutter *c = (SplitCutter *)self;
    PreTokenizer p = c->pretokenizer;
    p.add_prefix_space &= is_start;
    Str s = pretokenizer_place(&p, text, &c->text);
    uint32_t len = (uint32_t)s.len;
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = p.split(s.ptr, len, from, until, c->end);
        for (int64_t i = 0; i < n; i++) {
            word_counts_add(to, s.ptr + from, c->end[i] - from, 1);
            from = c->end[i];
        }
    }
    return NULL;
}

static void cutter_free(WordCutter *self)
{
    buffer_free(&((SplitCutter *)self)->text);
}

static Error *cutter_new(Arena *a, const TrainSettings *s, WordCutter **out)
{
    WordSplitter *split;
    TRY(split_gpt2_choose(&split));
    SplitCutter *c = NEW(a, SplitCutter);
    c->base = (WordCutter){ .cut = cut, .free = cutter_free };
    c->pretokenizer = (PreTokenizer){ .add_prefix_space = s->bpe.add_prefix_space, .split = split };
    *out = &c->base;
    return NULL;
}

/* ---- the file ---- */

/* A stage of the byte-level family. */
static json_t *byte_level(bool add_prefix_space, bool trim_offsets)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                     add_prefix_space, "trim_offsets", trim_offsets, "use_regex", true);
}

static json_t *added_tokens(const BpeTrainSettings *s, const TrainedBpe *b)
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

static int append(const char *bytes, size_t len, void *text)
{
    text_add(text, bytes, len);
    return 0;
}

static void write_json(const BpeTrainSettings *s, const TrainedBpe *b, Text *file)
{
    json_t *root =
        json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:o}", "version", "1.0", "truncation",
                  "padding", "added_tokens", added_tokens(s, b), "normalizer", "pre_tokenizer",
                  byte_level(s->add_prefix_space, true), "post_processor", byte_level(true, false),
                  "decoder", byte_level(true, true), "model", model(b));
    bool is_written = root && json_dump_callback(root, append, file, JSON_INDENT(2)) == 0;
    CHECK(is_written);
    text_putc(file, '\n');
    json_decref(root);
}

static Error *check(const TrainSettings *s)
{
    for (int64_t i = 0; i < s->bpe.n_special_tokens; i++) {
        Str token = str_of(s->bpe.special_tokens[i]);
        if (!token.len) return error_new("a special token is empty");
        if (utf8_valid_length(token) < token.len)
            return error_new("special token %lld is no UTF-8", (long long)i + 1);
    }
    return NULL;
}

static Error *learn(const TrainSettings *s, const WordCounts *words, Text *file,
                    TrainSummary *summary)
{
    TrainedBpe trained;
    Arena *a = arena_new();
    Error *e = train_merges(a, s, words, &trained, summary);
    if (!e) write_json(&s->bpe, &trained, file);
    arena_free(a);
    return e;
}

static const char *const option_names[] = { "special_tokens",
                                            "min_frequency",
                                            "initial_alphabet",
                                            "limit_alphabet",
                                            "max_token_length",
                                            "add_prefix_space",
                                            NULL };

const TrainerKind trainer_bpe = {
    .name = "bpe",
    .doc = "byte pair encoding, as Hugging Face's BpeTrainer finds it: a tokenizer.json",
    .options = option_names,
    .check = check,
    .cutter_new = cutter_new,
    .learn = learn,
};
