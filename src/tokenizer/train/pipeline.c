/* pipeline.c - normalizer, pre-tokenizer, post-processor and decoder of trained tokenizers.
 *
 * A stage is made as the JSON that the file will hold, and then read as from a file: what cuts the
 * texts here is what will cut them in use. */
#include "tokenizer/train/pipeline.h"
#include "base/utf8.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include <string.h>

const char *const train_pre_tokenizers[] = { "byte_level", "cl100k",           "bert",
                                             "whitespace", "whitespace_split", NULL };
const char *const train_normalizers[] = { "none", "nfc", "nfd", "nfkc", "nfkd", "bert", NULL };

bool train_is_byte_level(TrainPreTokenizer p)
{
    return p == TRAIN_BYTE_LEVEL || p == TRAIN_CL100K;
}

/* ---- the stages as JSON ---- */

static json_t *byte_level(bool add_prefix_space, bool trim_offsets, bool use_regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                     add_prefix_space, "trim_offsets", trim_offsets, "use_regex", use_regex);
}

/* Llama 3's spelling of the pattern. */
static json_t *cl100k(void)
{
    static const char pattern[] =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
        " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers",
                     "type", "Split", "pattern", "Regex", pattern, "behavior", "Isolated", "invert",
                     false, byte_level(false, true, false));
}

static json_t *pre_tokenizer(const BpeTrainSettings *s)
{
    switch (s->pre_tokenizer) {
    case TRAIN_BYTE_LEVEL:
        return byte_level(s->add_prefix_space, true, true);
    case TRAIN_CL100K:
        return cl100k();
    case TRAIN_BERT:
        return json_pack("{s:s}", "type", "BertPreTokenizer");
    case TRAIN_WHITESPACE:
        return json_pack("{s:s}", "type", "Whitespace");
    case TRAIN_WHITESPACE_SPLIT:
        return json_pack("{s:s}", "type", "WhitespaceSplit");
    }
    return NULL;
}

static json_t *normalizer(const BpeTrainSettings *s)
{
    static const char *const type[] = {
        [TRAIN_NFC] = "NFC", [TRAIN_NFD] = "NFD", [TRAIN_NFKC] = "NFKC", [TRAIN_NFKD] = "NFKD"
    };
    if (s->normalizer == TRAIN_AS_IT_IS) return json_null();
    if (s->normalizer != TRAIN_BERT_NORMALIZER)
        return json_pack("{s:s}", "type", type[s->normalizer]);
    return json_pack("{s:s, s:b, s:b, s:b, s:b}", "type", "BertNormalizer", "clean_text",
                     s->clean_text, "handle_chinese_chars", s->handle_chinese_chars,
                     "strip_accents", s->strip_accents, "lowercase", s->lowercase);
}

static json_t *post_processor(const BpeTrainSettings *s)
{
    bool is_byte_level = train_is_byte_level(s->pre_tokenizer);
    return is_byte_level ? byte_level(true, false, true) : json_null();
}

static json_t *decoder(const BpeTrainSettings *s)
{
    if (train_is_byte_level(s->pre_tokenizer)) return byte_level(true, true, true);
    if (s->suffix) return json_pack("{s:s, s:s}", "type", "BPEDecoder", "suffix", s->suffix);
    if (!s->prefix) return json_null();
    return json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", s->prefix, "cleanup", true);
}

static json_t *added_tokens(const BpeTrainSettings *s, const uint32_t *id)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < s->n_special_tokens; i++) {
        if (id[i] < json_array_size(list)) continue; /* named before */
        json_array_append_new(list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                              (json_int_t)id[i], "content", s->special_tokens[i],
                                              "single_word", false, "lstrip", false, "rstrip",
                                              false, "normalized", false, "special", true));
    }
    return list;
}

static int append(const char *bytes, size_t len, void *text)
{
    text_add(text, bytes, len);
    return 0;
}

void train_write_json(const BpeTrainSettings *s, const uint32_t *id, json_t *model, Text *file)
{
    json_t *root =
        json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "version", "1.0", "truncation",
                  "padding", "added_tokens", added_tokens(s, id), "normalizer", normalizer(s),
                  "pre_tokenizer", pre_tokenizer(s), "post_processor", post_processor(s), "decoder",
                  decoder(s), "model", model);
    bool is_written = root && json_dump_callback(root, append, file, JSON_INDENT(2)) == 0;
    CHECK(is_written);
    text_putc(file, '\n');
    json_decref(root);
}

/* ---- checking ---- */

static Error *check_text(const char *text, const char *what)
{
    if (!text) return NULL;
    if (!*text) return error_new("%s is empty", what);
    return utf8_valid_length(str_of(text)) < strlen(text) ? error_new("%s is no UTF-8", what)
                                                          : NULL;
}

Error *train_pipeline_check(const BpeTrainSettings *s)
{
    bool has_unk = !s->unk_token;
    for (int64_t i = 0; i < s->n_special_tokens; i++) {
        TRY(check_text(s->special_tokens[i], "a special token"));
        has_unk |= s->unk_token && !strcmp(s->unk_token, s->special_tokens[i]);
    }
    TRY(check_text(s->prefix, "continuing_subword_prefix"));
    TRY(check_text(s->suffix, "end_of_word_suffix"));
    if (!has_unk) return error_new("unk_token %s is not among the special tokens", s->unk_token);
    const char *cutting = train_pre_tokenizers[s->pre_tokenizer];
    bool is_byte_level = train_is_byte_level(s->pre_tokenizer);
    if (s->all_bytes && !is_byte_level)
        return error_new("initial_alphabet bytes does not go with pre_tokenizer %s", cutting);
    if (s->add_prefix_space && s->pre_tokenizer != TRAIN_BYTE_LEVEL)
        return error_new("add_prefix_space does not go with pre_tokenizer %s", cutting);
    if (is_byte_level && (s->prefix || s->suffix)) {
        return error_new("%s does not go with pre_tokenizer %s",
                         s->prefix ? "continuing_subword_prefix" : "end_of_word_suffix", cutting);
    }
    return NULL;
}

/* ---- cutting ---- */

typedef struct PipelineCutter {
    WordCutter base;
    Normalizer normalizer;
    NormalizerRoom normalizing;
    PreTokenizer pretokenizer;
    PreTokenizerRoom cutting;
    Buffer text; /* with slack for the splitter */
    uint32_t end[SPLIT_ROOM];
} PipelineCutter;

/* The splitter finds the words in place. */
static void cut_in_place(PipelineCutter *c, Str text, bool is_start, WordCounts *to)
{
    PreTokenizer p = c->pretokenizer;
    p.add_prefix_space &= is_start;
    Str s = pretokenizer_place(&p, text, &c->text);
    uint32_t len = (uint32_t)s.len;
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = p.split(s.ptr, len, from, until, c->end);
        word_counts_add_all(to, s.ptr, from, c->end, n);
        from = c->end[n - 1];
    }
}

static Error *cut(WordCutter *self, Str text, bool is_start, WordCounts *to)
{
    PipelineCutter *c = (PipelineCutter *)self;
    const Words *words;
    TRY(normalizer_run(&c->normalizer, text, &c->normalizing, &text));
    if (text.len && c->pretokenizer.split) {
        cut_in_place(c, text, is_start, to);
    } else if (text.len) {
        bool at_start = is_start && !c->normalizing.skipped;
        TRY(pretokenizer_run(&c->pretokenizer, text, at_start, &c->cutting, &words));
        word_counts_add_all(to, words->text.ptr, 0, words_ends(words), words->n);
    }
    return NULL;
}

static void cutter_free(WordCutter *self)
{
    PipelineCutter *c = (PipelineCutter *)self;
    normalizer_room_free(&c->normalizing);
    pretokenizer_room_free(&c->cutting);
    buffer_free(&c->text);
}

static void release(void *tree)
{
    json_decref(tree);
}

static JsonNode node(Arena *a, json_t *tree)
{
    arena_on_free(a, release, tree);
    return (JsonNode){ tree, "", a };
}

Error *train_cutter_new(Arena *a, const TrainSettings *s, WordCutter **out)
{
    PipelineCutter *c = NEW(a, PipelineCutter);
    c->base = (WordCutter){ .cut = cut, .free = cutter_free };
    *out = &c->base;
    TRY(normalizer_load(node(a, normalizer(&s->bpe)), a, &c->normalizer));
    return pretokenizer_load(node(a, pre_tokenizer(&s->bpe)), false, a, &c->pretokenizer);
}
