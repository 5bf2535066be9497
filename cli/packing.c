/* packing.c - from a resolved configuration to a .pbin file. */
#include "packing.h"
#include "base/log.h"
#include "base/signal.h"
#include "components.h"
#include "config/builder.h"
#include "data/pack_settings.h"

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
}

Error *pack_as_configured(Arena *a, const Yaml *root, ExistingPolicy policy)
{
    Registry *r;
    PackConfig config = { 0 };
    PackSummary summary;
    bool write = true;
    TRY(components_registry(a, &r));
    Builder *b = builder_new(a, r, root, NULL);
    TRY(builder_validate(b, pack_config_fields, &config));
    TRY(pack_settings_check(&config.settings));
    TRY(existing_file(config.settings.dst_path, policy, &write));
    if (!write) return NULL;
    TRY(builder_build(b, pack_config_fields, &config));
    signal_catch();
    TRY(pack_jsonl(&config.settings, config.tokenizer, &summary));
    tell(&config.settings, &summary);
    return NULL;
}
