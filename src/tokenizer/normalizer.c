/* normalizer.c - the table of normalizers. */
#include "tokenizer/normalizer.h"

Error *normalizer_load(JsonNode at)
{
    if (json_node_is_null(at)) return NULL;
    return json_node_error(at, "is not supported (supported: null)");
}
