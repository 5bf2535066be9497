/* decoder.c - the table of decoders. */
#include "tokenizer/decoder.h"
#include "tokenizer/byte_alphabet.h"

static void name_itself(Str name, Text *out)
{
    text_add(out, name.ptr, name.len);
}

/* A name with a character outside the alphabet stands for itself. */
static void byte_level(Str name, Text *out)
{
    if (!name_to_bytes(name, out)) name_itself(name, out);
}

static Error *load_byte_level(JsonNode at, void *out)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
                                         NULL };
    bool unused; /* they matter to the other stages of this name */
    TRY(json_node_only(at, known));
    for (int i = 1; known[i]; i++) TRY(json_get_bool(at, known[i], DEFAULT_TRUE, &unused));
    *(Decoder *)out = (Decoder){ .piece = byte_level, .between = "", .repairs = true };
    return NULL;
}

static const JsonStage decoders[] = {
    { "ByteLevel", load_byte_level },
    { 0 },
};

Error *decoder_load(JsonNode at, Decoder *out)
{
    *out = (Decoder){ .piece = name_itself, .between = " " };
    return json_node_is_null(at) ? NULL : json_load_stage(at, decoders, NULL, out);
}
