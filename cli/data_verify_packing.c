/* data_verify_packing.c - `data verify_packing`: tokenizes the source of a packed file again and
 * compares. */
#include "command.h"
#include "config/config.h"
#include "packing.h"

typedef struct Options {
    const char *config_path;
    StringList set;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, config_path, NULL, "the YAML file that it was packed with",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override: key.path=value"),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Yaml *root;
    Rank rank;
    TRY(rank_of_process(&rank));
    const ResolverContext context = { .rank = &rank, .config_file_path = o->config_path };
    TRY(config_load(a, o->config_path, o->set, &context, &root));
    return verify_as_configured(a, o->config_path, root);
}

const Command command_data_verify_packing = {
    .group = "data",
    .name = "verify_packing",
    .doc = "Tokenizes the source of a packed file again and compares every token.",
    .details = "settings.src_path is packed as the configuration says, into a file beside "
               "settings.dst_path that is removed in the end, and compared with it: number of "
               "documents, their lengths, every token. The first difference is named with its "
               "document and place. Exit status 0: the same; 1: not.",
    .examples = "modalities data verify_packing pack.yaml",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
