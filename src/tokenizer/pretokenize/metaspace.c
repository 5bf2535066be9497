/* metaspace.c - reads the settings of Metaspace. */
#include "tokenizer/pretokenize/metaspace.h"

static Error *load_scheme(JsonNode at, PrependScheme *out)
{
    static const char *const names[] = { "always", "first", "never" };
    Str name;
    *out = PREPEND_ALWAYS;
    if (!json_member(at, "prepend_scheme").value) return NULL;
    TRY(json_get_string(at, "prepend_scheme", &name));
    for (int i = 0; i < 3; i++) {
        if (!str_is(name, names[i])) continue;
        *out = (PrependScheme)i;
        return NULL;
    }
    return json_node_error(json_member(at, "prepend_scheme"),
                           "must be \"always\", \"first\" or \"never\"");
}

Error *metaspace_load(JsonNode at, Metaspace *out)
{
    static const char *const known[] = { "type",  "replacement",      "prepend_scheme",
                                         "split", "add_prefix_space", "str_rep",
                                         NULL };
    TRY(json_node_only(at, known));
    TRY(json_get_character(at, "replacement", &out->replacement));
    TRY(load_scheme(at, &out->scheme));
    out->split = true;
    if (!json_node_is_null(json_member(at, "split")))
        TRY(json_get_bool(at, "split", DEFAULT_TRUE, &out->split));
    bool prefix = true;
    if (!json_node_is_null(json_member(at, "add_prefix_space")))
        TRY(json_get_bool(at, "add_prefix_space", DEFAULT_TRUE, &prefix));
    if (!prefix && out->scheme != PREPEND_NEVER) {
        return json_node_error(json_member(at, "add_prefix_space"),
                               "contradicts prepend_scheme, which is \"never\" without a prefix");
    }
    return NULL;
}
