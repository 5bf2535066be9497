/* data_export_megatron.c - `data export_megatron`: a .pbin file as tokens of Megatron-LM. */
#include "base/signal.h"
#include "command.h"
#include "data/megatron.h"
#include "data_rewriting.h"

static const char *const forms[] = { "megatron", "fairseq", NULL };

typedef struct Options {
    const char *src_path, *target_path;
    int index_format, file_existence_policy;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, src_path, NULL, "file of packed tokens",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_PATH(Options, target_path, NULL,
               "the .bin or .idx file to write, or what both names begin with",
               .flags = FIELD_ARGUMENT, .role = PATH_BEGINNING),
    FIELD_CHOICE(Options, index_format, "megatron", forms,
                 "the index with documents, or the older one without"),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when one of the files is already there"),
    { 0 },
};

static Error *paths(Arena *a, const void *given, PathRoles *to)
{
    const Options *o = given;
    const char *prefix = megatron_prefix(a, o->target_path);
    path_roles_add(to, PATH_WRITTEN, "target_path", arena_printf(a, "%s.bin", prefix));
    path_roles_add(to, PATH_WRITTEN, "target_path (index)", arena_printf(a, "%s.idx", prefix));
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    MegatronSummary done;
    const char *prefix = megatron_prefix(a, o->target_path);
    const char *bin = arena_printf(a, "%s.bin", prefix), *idx = arena_printf(a, "%s.idx", prefix);
    bool write_bin, write_idx;
    TRY(prepare_output(a, bin, o->file_existence_policy, &write_bin));
    TRY(prepare_output(a, idx, o->file_existence_policy, &write_idx));
    if (!write_bin || !write_idx) return NULL;
    signal_catch();
    double start = clock_seconds();
    TRY(export_megatron(o->src_path, bin, idx, (MegatronForm)o->index_format, &done));
    tell_rewritten(bin, done.n_documents, "documents", done.n_bytes, start);
    return NULL;
}

const Command command_data_export_megatron = {
    .group = "data",
    .name = "export_megatron",
    .doc = "Writes a .pbin file as tokens of Megatron-LM (.bin and .idx).",
    .details = "Every document is one sequence; tokens of 1, 2 and 4 bytes become uint8, uint16 "
               "and int32. Importing the result gives the same .pbin file. The .idx file appears "
               "last. " REWRITING_DETAILS,
    .examples = "modalities data export_megatron corpus.pbin corpus_text_document",
    .options = options,
    .options_size = sizeof(Options),
    .paths = paths,
    .run = run,
};
