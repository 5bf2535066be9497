/* decoder_model.c - builds models of model.decoder. */
#include "models/decoder_model.h"
#include "components.h"
#include "config/builder.h"

Error *decoder_model(Arena *a, const char *settings, Model **out)
{
    Yaml *root;
    Registry *r;
    const char *text =
        arena_printf(a, "m: {component_key: model, variant_key: decoder, config: {%s}}", settings);
    TRY(yaml_parse(a, str_of(text), "x.yaml", &root));
    TRY(components_registry(a, &r));
    return builder_get(builder_new(a, r, root, NULL), "m", "model", (void **)out);
}
