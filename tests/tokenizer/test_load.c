/* test_load.c - what is not supported is refused by name, with its place in the file; settings that
 * the file carries are applied. */
#include "golden.h"
#include "tokenizer/tokenizer.h"
#include <string.h>

#define BYTE_LEVEL "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true}"
#define VOCAB "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"<s>\": 3, \"Ġ\": 4}"

static Error *open_text(const char *json, Tokenizer **out)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "tokenizer.json");
    assert_no_error(file_write(path, json, strlen(json)));
    Error *e = tokenizer_open(path, out);
    arena_free(a);
    return e;
}

TEST(files_that_are_not_supported_are_refused_with_the_place)
{
    static const char *const cases[][2] = {
        { "", "tokenizer.json:1:0: no JSON" },
        { "{\n\"model\" {}", "tokenizer.json:2:" },
        { "[]", "top level: must be an object (found a list of 0)" },
        { "{\"pieces\": []}", "pieces: is not a known key here" },
        { "{\"version\": \"1.0\"}", "no member \"model\"" },
        { "{\"model\": {\"type\": \"Ngram\", \"vocab\": []}}",
          "model.type: \"Ngram\" is not supported (supported: \"BPE\", \"WordPiece\", "
          "\"WordLevel\", "
          "\"Unigram\")" },
        { "{\"model\": {\"vocab\": {}}}", "model.type: must be one of \"BPE\"" },
        { "{\"model\": {\"type\": \"BPE\", \"vocabs\": {}}}",
          "model.vocabs: is not a known key here; did you mean \"vocab\"?" },
        { "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}",
          "model.vocab.b: has the id of \"a\"" },
        { "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": -1}, \"merges\": []}}",
          "model.vocab.a: must be an id from 0 to" },
        { "{\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": [\"a b\", \"a c\"]}}",
          "model.merges[1]: \"c\" is not in model.vocab" },
        { "{\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": [\"a  b\"]}}",
          "model.merges[0]" },
        { "{\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": [[\"a\", \"b\", \"c\"]]}}",
          "with one blank" },
        { "{\"model\": {\"type\": \"BPE\", \"dropout\": 1.1, " VOCAB ", \"merges\": []}}",
          "model.dropout: must be a number from 0 to 1" },
        { "{\"model\": {\"type\": \"BPE\", \"byte_fallback\": 1, " VOCAB ", \"merges\": []}}",
          "model.byte_fallback" },
        { "{\"model\": {\"type\": \"BPE\", \"continuing_subword_prefix\": \"##\", " VOCAB
          ", \"merges\": [\"a b\"]}}",
          "model.merges[0]: its right side is shorter than continuing_subword_prefix" },
        { "{\"model\": {\"vocab\": [[\"a\", 0], \"b\"]}}",
          "model.vocab[1]: must be [\"token\", score]" },
        { "{\"model\": {\"vocab\": [[\"a\", 0]], \"unk_id\": 1}}",
          "model.unk_id: must be an integer from 0 to 0" },
        { "{\"model\": {\"vocab\": {}, \"max_input_chars_per_word\": 100}}",
          "model.unk_token: must be text" },
        { "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFX\"}]}, "
          "\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": []}}",
          "normalizer.normalizers[0].type: \"NFX\" is not supported (supported: "
          "\"BertNormalizer\", \"ByteLevel\"," },
        { "{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a(b\"}, "
          "\"content\": \"\"}, \"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": []}}",
          "normalizer.pattern.Regex: ( without a closing parenthesis (at byte 3 of the pattern "
          "\"a(b\")" },
        { "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AA=A\"}, "
          "\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": []}}",
          "normalizer.precompiled_charsmap: must be base64" },
        { "{\"pre_tokenizer\": {\"type\": \"Spaces\"}, \"model\": {\"type\": \"BPE\", " VOCAB
          ", \"merges\": []}}",
          "pre_tokenizer.type: \"Spaces\" is not supported (supported: \"BertPreTokenizer\", "
          "\"ByteLevel\"," },
        { "{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"ab\"}, \"model\": "
          "{\"type\": \"BPE\", " VOCAB ", \"merges\": []}}",
          "pre_tokenizer.replacement: must be one character (found \"ab\")" },
        { "{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?s:.)\"}, "
          "\"behavior\": \"Removed\", \"invert\": false}, \"model\": {\"type\": \"BPE\", " VOCAB
          ", \"merges\": []}}",
          "pre_tokenizer.pattern.Regex: undefined option of a group (options: i, m, x) (at byte "
          "2" },
        { "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", " VOCAB
          ", \"merges\": []}}",
          "pre_tokenizer.add_prefix_space: must be true or false (found nothing)" },
        { "{\"pre_tokenizer\": " BYTE_LEVEL ", \"post_processor\": {\"type\": \"BertProcessing\"}, "
          "\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": []}}",
          "post_processor.sep: must be [token, its id below 5] (found nothing)" },
        { "{\"pre_tokenizer\": " BYTE_LEVEL
          ", \"decoder\": {\"type\": \"Words\"}, \"model\": {\"type\": \"BPE\", " VOCAB
          ", \"merges\": []}}",
          "decoder.type: \"Words\" is not supported (supported: \"BPEDecoder\", "
          "\"ByteFallback\"," },
        { "{\"added_tokens\": [{\"id\": 1, \"content\": \"x\"}], \"model\": {\"type\": "
          "\"BPE\", " VOCAB ", \"merges\": []}}",
          "added_tokens[0].single_word: must be true or false" },
        { "{\"pre_tokenizer\": " BYTE_LEVEL ", \"padding\": {\"strategy\": {\"Fixed\": 3}, "
          "\"direction\": \"Right\", \"pad_id\": 77, "
          "\"pad_type_id\": 0, \"pad_token\": \"a\"}, \"model\": {\"type\": \"BPE\", " VOCAB
          ", \"merges\": []}}",
          "padding.pad_id: must be an integer from 0 to 4" },
        { "{\"pre_tokenizer\": " BYTE_LEVEL ", \"truncation\": {\"direction\": \"Up\", "
          "\"max_length\": 2, \"strategy\": \"LongestFirst\", "
          "\"stride\": 0}, \"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": []}}",
          "truncation.direction: must be \"Left\" or \"Right\" (found \"Up\")" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tokenizer *t;
        assert_error_has(open_text(cases[i][0], &t), cases[i][1]);
    }
    Tokenizer *t;
    assert_error_has(tokenizer_open("/nonexistent", &t), "/nonexistent");
    assert_error_has(tokenizer_open(test_folder(), &t), "tokenizer.json");
}

static void assert_encodes(const char *json, const char *text, const char *expected)
{
    Tokenizer *t;
    assert_no_error(open_text(json, &t));
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    Text got = { 0 };
    text_puts(&got, "");
    assert_no_error(t->encode(e, str_of(text), true, &ids));
    for (int64_t i = 0; i < ids.n; i++) text_printf(&got, i ? " %u" : "%u", ids.id[i]);
    assert_string_equal(got.ptr, expected);
    text_free(&got);
    ids_free(&ids);
    t->encoder_free(e);
    t->close(t);
}

TEST(truncation_and_padding_of_the_file_are_applied)
{
#define WITH(truncation, padding)                                                                  \
    "{\"truncation\": " truncation ", \"padding\": " padding ", \"pre_tokenizer\": " BYTE_LEVEL    \
    ", \"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": [\"a b\"]}}"
#define CUT(side)                                                                                  \
    "{\"direction\": \"" side                                                                      \
    "\", \"max_length\": 3, \"strategy\": \"LongestFirst\", \"stride\": 0}"
#define PAD(strategy, side, multiple)                                                              \
    "{\"strategy\": " strategy ", \"direction\": \"" side "\", \"pad_to_multiple_of\": " multiple  \
    ", \"pad_id\": 3, \"pad_type_id\": 0, \"pad_token\": \"<s>\"}"
    assert_encodes(WITH("null", "null"), "abaab", "2 0 2");
    assert_encodes(WITH(CUT("Right"), "null"), "bbaab", "1 1 0");
    assert_encodes(WITH(CUT("Left"), "null"), "bbaab", "1 0 2");
    assert_encodes(WITH("null", PAD("{\"Fixed\": 4}", "Right", "null")), "ab", "2 3 3 3");
    assert_encodes(WITH("null", PAD("{\"Fixed\": 4}", "Left", "3")), "ab", "3 3 3 3 3 2");
    assert_encodes(WITH("null", PAD("\"BatchLongest\"", "Right", "2")), "abab a", "2 2 4 0");
    assert_encodes(WITH(CUT("Right"), PAD("{\"Fixed\": 5}", "Left", "null")), "bbbbbb",
                   "3 3 1 1 1");
}

TEST(bytes_without_a_token_are_dropped_or_unknown)
{
#define BPE(settings)                                                                              \
    "{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", " settings VOCAB           \
    ", \"merges\": [\"a b\"]}}"
    assert_encodes(BPE(""), "axb", "2"); /* a and b meet */
    assert_encodes(BPE("\"unk_token\": \"<s>\", "), "axyb", "0 3 3 1");
    assert_encodes(BPE("\"unk_token\": \"<s>\", \"fuse_unk\": true, "), "axyb", "0 3 1");
    assert_encodes(BPE("\"ignore_merges\": true, "), "<s>", ""); /* "<s" and ">" are no tokens */
    assert_encodes(BPE(""), "", "");
}

/* Flags of added tokens; the ids in the file are not used. */
TEST(added_tokens_are_found_as_their_flags_say)
{
#define TOKEN(content, single, left, right, normalized)                                            \
    "{\"id\": 900, \"content\": \"" content "\", \"single_word\": " single ", \"lstrip\": " left   \
    ", \"rstrip\": " right ", \"normalized\": " normalized ", \"special\": false}"
#define ADDED(list)                                                                                \
    "{\"added_tokens\": [" list "], \"pre_tokenizer\": " BYTE_LEVEL                                \
    ", \"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": [\"a b\"]}}"
    assert_encodes(ADDED(TOKEN("<s>", "false", "false", "false", "false")), "a<s>b", "0 3 1");
    assert_encodes(ADDED(TOKEN("[x]", "false", "true", "true", "false")), "a \n [x]\t b", "0 5 1");
    assert_encodes(ADDED(TOKEN("aa", "true", "false", "false", "false")), "aa aaa baa aa",
                   "5 4 0 0 0 4 1 0 0 4 5");
    assert_encodes(ADDED(TOKEN("aa", "true", "false", "false", "false")), "aa\u0301 \u00B2aa",
                   "0 0 4 5");
    /* the longest at the leftmost place; those not normalized before the others */
    assert_encodes(ADDED(TOKEN("ab", "false", "false", "false",
                               "false") ", " TOKEN("aba", "false", "false", "false", "false")),
                   "ababa", "5 1 0");
    assert_encodes(ADDED(TOKEN("xab", "false", "false", "false",
                               "true") ", " TOKEN("bb", "false", "false", "false", "false")),
                   "xabb", "0 6");
}
