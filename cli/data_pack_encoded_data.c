/* data_pack_encoded_data.c - `data pack_encoded_data`: tokenizes a JSONL file into a .pbin file. */
#include "command.h"
#include "config/config.h"
#include "data_rewriting.h"
#include "packing.h"
#include "sharing.h"

typedef struct Options {
    const char *config_path;
    int file_existence_policy;
    StringList set;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, config_path, NULL, "YAML file with settings and tokenizer",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when the file at settings.dst_path is already there"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override: key.path=value"),
    { 0 },
};

static Error *pack(Arena *a, const void *given, const Crew *crew)
{
    const Options *o = given;
    Yaml *root;
    Rank rank;
    TRY(rank_of_process(&rank));
    const ResolverContext context = { .rank = &rank, .config_file_path = o->config_path };
    TRY(consensus_error(crew->consensus, config_load(a, o->config_path, o->set, &context, &root)));
    return pack_as_configured(a, o->config_path, root, (ExistingPolicy)o->file_existence_policy,
                              crew);
}

static Error *run(Arena *a, const void *given)
{
    return sharing_run(a, given, pack);
}

const Command command_data_pack_encoded_data = {
    .group = "data",
    .name = "pack_encoded_data",
    .doc = "Tokenizes a JSONL file into a .pbin file, one document per line.",
    .details =
        "A plain file needs an index (create_raw_index). Documents are written in the order of the "
        "lines, each with the EOD token after it. settings.on_bad_line (stop or skip) decides "
        "about lines without usable text. settings.num_cpus threads tokenize; memory is bounded by "
        "the lines that are on their way (settings: batches and queues; at most 262144 lines) and "
        "the word caches of the threads, which grow with the number of different words to 352 MiB "
        "each or an eighth of the free memory in all, however large the input is. The file appears "
        "when it is complete; " GOES_ON SHARING_DETAILS
        " The lines of one file with an index are shared; of several inputs each is one rank's; "
        "one without an index is packed by rank 0 alone."
        " A compressed file that was not finished is decompressed again, and standard input cannot "
        "be continued.",
    .examples = "modalities data pack_encoded_data pack.yaml\n"
                "modalities data pack_encoded_data pack.yaml --set settings.on_bad_line=skip "
                "--file_existence_policy override",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
