/* data_pack_encoded_data.c - `data pack_encoded_data`: tokenizes a JSONL file into a .pbin file. */
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "components.h"
#include "config/builder.h"
#include "data/existing_file.h"
#include "data/pack_settings.h"

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

static void tell(const PackSettings *s, const PackSummary *done)
{
    char bytes[32], rate[32], seconds[32];
    format_bytes((double)done->n_bytes_read, bytes);
    format_bytes((double)done->n_bytes_read / done->seconds, rate);
    format_seconds(done->seconds, seconds);
    log_info("%s: %lld documents, %lld tokens of %d bytes (%s of JSON in %s, %s/s, %.2f million "
             "tokens/s)",
             s->dst_path, (long long)done->n_documents, (long long)done->n_tokens,
             done->token_bytes, bytes, seconds, rate, (double)done->n_tokens / done->seconds / 1e6);
    if (done->n_bad)
        log_warning("%s: %lld of %lld lines were left out", s->dst_path, (long long)done->n_bad,
                    (long long)done->n_bad + done->n_documents);
}

static Error *pack(Builder *b, const Options *o)
{
    PackConfig config;
    PackSummary summary;
    bool write = true;
    TRY(builder_validate(b, pack_config_fields, &config));
    TRY(pack_settings_check(&config.settings));
    TRY(existing_file(config.settings.dst_path, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    TRY(builder_build(b, pack_config_fields, &config));
    signal_catch();
    TRY(pack_jsonl(&config.settings, config.tokenizer, &summary));
    tell(&config.settings, &summary);
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Yaml *root;
    Registry *r;
    TRY(config_load(a, o->config_path, o->set,
                    &(ResolverContext){ .config_file_path = o->config_path }, &root));
    TRY(components_registry(a, &r));
    return pack(builder_new(a, r, root, NULL), o);
}

const Command command_data_pack_encoded_data = {
    .group = "data",
    .name = "pack_encoded_data",
    .doc = "Tokenizes a JSONL file into a .pbin file, one document per line.",
    .details = "The file needs an index (create_raw_index). Documents are written in the order of "
               "the lines, each "
               "with the EOD token behind it. settings.on_bad_line decides about lines without "
               "usable text.",
    .examples = "modalities data pack_encoded_data pack.yaml\n"
                "modalities data pack_encoded_data pack.yaml --set settings.on_bad_line=skip "
                "--file_existence_policy override",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
