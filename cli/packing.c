/* packing.c - from a resolved configuration to a .pbin file. */
#include "packing.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/signal.h"
#include "base/text_input.h"
#include "components.h"
#include "config/field_paths.h"
#include "config/yaml_emit.h"
#include "data/pack_settings.h"
#include "data/resumable.h"
#include <string.h>

static void tell(const PackSettings *s, const PackSummary *done)
{
    char bytes[32], rate[32], seconds[32];
    double read = (double)(done->n_bytes_read - done->bytes_found);
    double made = (double)(done->n_tokens - done->n_tokens_found);
    format_bytes(read, bytes);
    format_bytes(read / done->seconds, rate);
    format_seconds(done->seconds, seconds);
    log_info("%s: %lld documents, %lld tokens of %d bytes (%s of JSON in %s, %s/s, %.2f million "
             "tokens/s)",
             s->dst_path, (long long)done->n_documents, (long long)done->n_tokens,
             done->token_bytes, bytes, seconds, rate, made / done->seconds / 1e6);
}

/* The files that texts of the configuration name. */
static Error *identify_files(const Yaml *y, Text *out)
{
    for (int64_t i = 0; i < y->n && (y->type == YAML_MAP || y->type == YAML_LIST); i++)
        TRY(identify_files(y->item[i], out));
    bool is_path = y->type == YAML_STRING && y->text_len && file_exists(y->text);
    return is_path ? identify_path(out, "tokenizer file", y->text) : NULL;
}

/* What the tokenizer is made of: all but `settings`. */
static Error *identify_tokenizer(Arena *a, const Yaml *root, PackSettings *settings)
{
    Text text = { 0 }, yaml = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < root->n; i++) {
        if (!strcmp(root->key[i]->text, "settings")) continue;
        yaml_emit_unicode(root->item[i], &yaml);
        e = identify_files(root->item[i], &text);
    }
    char digest[65];
    sha256_hex(yaml.ptr, yaml.len, digest);
    text_printf(&text, "tokenizer settings (SHA-256): %s\n", digest);
    settings->tokenizer_identity = arena_string_n(a, text.ptr, text.len);
    text_free(&text);
    text_free(&yaml);
    return e;
}

/* The packed file and the report are none of the files that are read. */
static Error *check_paths(Arena *a, const Builder *b, const PackSettings *s,
                          const char *config_path)
{
    PathRoles *roles = path_roles_new(a);
    path_roles_add(roles, PATH_READ, "the configuration", config_path);
    builder_paths_add(roles, b, pack_config_fields);
    if (!s->index_path && text_input_is_plain_file(s->src_path))
        path_roles_add(roles, PATH_READ,
                       "the index of settings.src_path:", path_with_suffix(a, s->src_path, ".idx"));
    return path_roles_check(roles);
}

Error *pack_as_configured(Arena *a, const char *config_path, const Yaml *root,
                          ExistingPolicy policy)
{
    Registry *r;
    PackConfig config = { 0 };
    PackSummary summary;
    bool write = true;
    TRY(components_registry(a, &r));
    Builder *b = builder_new(a, r, root, NULL);
    TRY(builder_validate(b, pack_config_fields, &config));
    TRY(pack_settings_check(&config.settings));
    TRY(check_paths(a, b, &config.settings, config_path));
    TRY(existing_file(config.settings.dst_path, policy, &write));
    if (!write) return NULL;
    TRY(builder_build(b, pack_config_fields, &config));
    TRY(identify_tokenizer(a, root, &config.settings));
    signal_catch();
    TRY(pack_jsonl(&config.settings, config.tokenizer, &summary));
    tell(&config.settings, &summary);
    return NULL;
}
