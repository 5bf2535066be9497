/* data_import_megatron.c - `data import_megatron`: tokens of Megatron-LM or fairseq as a .pbin
 * file.
 */
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/megatron.h"
#include "data_rewriting.h"

enum { UNIT_DOCUMENT, UNIT_SEQUENCE };
static const char *const units[] = { "document", "sequence", NULL };

typedef struct Options {
    const char *src_path, *target_path;
    int unit, file_existence_policy;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, src_path, NULL, "the .bin or .idx file, or what both names begin with",
               .flags = FIELD_ARGUMENT, .role = PATH_BEGINNING),
    FIELD_PATH(Options, target_path, NULL, ".pbin file to write", .flags = FIELD_ARGUMENT,
               .role = PATH_WRITTEN),
    FIELD_CHOICE(Options, unit, "document", units,
                 "what becomes a document; documents of several sequences (sentences) are joined"),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when the target is already there"),
    { 0 },
};

static Error *paths(Arena *a, const void *given, PathRoles *to)
{
    const char *prefix = megatron_prefix(a, ((const Options *)given)->src_path);
    path_roles_add(to, PATH_READ, "src_path", arena_printf(a, "%s.bin", prefix));
    path_roles_add(to, PATH_READ, "src_path", arena_printf(a, "%s.idx", prefix));
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    MegatronSummary done;
    const char *prefix = megatron_prefix(a, o->src_path);
    const char *source[] = { arena_printf(a, "%s.bin", prefix), arena_printf(a, "%s.idx", prefix) };
    bool write;
    TRY(prepare_output(a, o->target_path, o->file_existence_policy, &write));
    if (!write) return NULL;
    signal_catch();
    double start = clock_seconds();
    TRY(import_megatron(source[0], source[1], o->target_path, o->unit == UNIT_SEQUENCE, &done));
    tell_rewritten(o->target_path, done.n_documents, "documents", done.n_bytes, start);
    if (done.n_sequences != done.n_documents)
        log_info("%s: %lld sequences were joined to %lld documents; their borders are not kept",
                 o->target_path, (long long)done.n_sequences, (long long)done.n_documents);
    return NULL;
}

const Command command_data_import_megatron = {
    .group = "data",
    .name = "import_megatron",
    .doc = "Writes tokens of Megatron-LM or fairseq (.bin and .idx) as a .pbin file.",
    .details =
        "Both forms of the index are read (with and without documents), tokens of any whole type; "
        "those of 8 bytes become 4. EOD tokens are taken as they are: write the source with "
        "--append-eod. " REWRITING_DETAILS
        " Sequences that do not lie in order need 16 bytes each on the disk of the output, tokens "
        "of 8 bytes their 4 bytes.",
    .examples = "modalities data import_megatron corpus_text_document.bin corpus.pbin",
    .options = options,
    .options_size = sizeof(Options),
    .paths = paths,
    .run = run,
};
