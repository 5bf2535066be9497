/* post_processor.c - the table of post-processors. */
#include "tokenizer/post_processor.h"

/* It trims offsets, which nobody asks for here; ids stay as they are. */
static Error *load_byte_level(JsonNode at, void *out)
{
    (void)out;
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
                                         NULL };
    bool unused;
    TRY(json_node_only(at, known));
    for (int i = 1; known[i]; i++) TRY(json_get_bool(at, known[i], DEFAULT_TRUE, &unused));
    return NULL;
}

static const JsonStage post_processors[] = {
    { "ByteLevel", load_byte_level },
    { 0 },
};

Error *post_processor_load(JsonNode at)
{
    return json_node_is_null(at) ? NULL : json_load_stage(at, post_processors, NULL, NULL);
}
