/* pretokenize.c - the table of pre-tokenizers. */
#include "tokenizer/pretokenize.h"
#include <string.h>

static Error *load_byte_level(JsonNode at, void *out)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
                                         NULL };
    PreTokenizer *p = out;
    bool trim_offsets, use_regex; /* trimming concerns offsets, which nobody asks for here */
    TRY(json_node_only(at, known));
    TRY(json_get_bool(at, "add_prefix_space", REQUIRED, &p->add_prefix_space));
    TRY(json_get_bool(at, "trim_offsets", REQUIRED, &trim_offsets));
    TRY(json_get_bool(at, "use_regex", DEFAULT_TRUE, &use_regex));
    return use_regex ? split_gpt2_choose(&p->split) : NULL;
}

static const JsonStage pretokenizers[] = {
    { "ByteLevel", load_byte_level },
    { 0 },
};

Error *pretokenizer_load(JsonNode at, PreTokenizer *out)
{
    *out = (PreTokenizer){ 0 };
    return json_load_stage(at, pretokenizers, NULL, out);
}

Str pretokenizer_place(const PreTokenizer *p, Str piece, Buffer *room)
{
    bool prefix = p->add_prefix_space && piece.ptr[0] != ' ';
    size_t len = piece.len + prefix;
    char *text = buffer_grow(room, len + 2 * SPLIT_SLACK);
    memset(text, 0xFF, SPLIT_SLACK);
    text += SPLIT_SLACK;
    text[0] = ' ';
    memcpy(text + prefix, piece.ptr, piece.len);
    memset(text + len, 0xFF, SPLIT_SLACK);
    return (Str){ text, len };
}
