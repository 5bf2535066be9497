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
#include "data/merge.h"
#include "data/pack_settings.h"
#include "data/pbin.h"
#include "data/resumable.h"
#include "sharing.h"
#include <stdio.h>
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

typedef struct Work {
    PackConfig config;
    PackSummary done; /* of this rank */
} Work;

static Error *make(void *context, const char *path, Share share, bool *made)
{
    Work *w = context;
    PackSettings s = w->config.settings;
    s.dst_path = path;
    s.share = share;
    TRY(pack_jsonl(&s, w->config.tokenizer, &w->done));
    *made = w->done.n_documents > 0;
    return NULL;
}

static Error *join(void *context, const char *const *part, int64_t n, const char *path)
{
    Work *w = context;
    MergeSummary all;
    if (!n)
        return error_new("The tokenized dataset did not create any data. (%s)",
                         w->config.settings.src_path);
    TRY(merge_pbin(part, n, path, &all));
    log_info("%s: %lld documents (%lld bytes), packed by several ranks", path,
             (long long)all.n_documents, (long long)all.n_bytes);
    return NULL;
}

/* What the bytes of finished parts depend on. */
static Error *key_of(Arena *a, const Yaml *root, const PackSettings *s, const char **out)
{
    PathList files = { 0 };
    Text t = { 0 };
    yaml_emit_unicode(root, &t);
    text_puts(&t, s->tokenizer_identity);
    Error *e = text_inputs_list(a, &s->src_path, 1, &files);
    for (int64_t i = 0; !e && i < files.n; i++) e = identify_path(&t, "input", files.item[i]);
    *out = sharing_key(a, t.ptr);
    text_free(&t);
    return e;
}

static Error *prepare(Arena *a, const char *config_path, const Yaml *root, ExistingPolicy policy,
                      const Crew *crew, Work *w, bool *write)
{
    Registry *r;
    PackConfig *c = &w->config;
    TRY(components_registry(a, &r));
    Builder *b = builder_new(a, r, root, NULL);
    TRY(builder_validate(b, pack_config_fields, c));
    TRY(pack_settings_check(&c->settings));
    TRY(check_paths(a, b, &c->settings, config_path));
    if (sharing_of(crew).n > 1 && c->settings.bad_line_report)
        return error_new(
            "settings.bad_line_report: several ranks write no common report; pack with "
            "one, or without the report");
    if (sharing_of(crew).n > 1 && !strcmp(c->settings.src_path, "-"))
        return error_new("settings.src_path: several ranks cannot share standard input");
    if (consensus_leads(crew->consensus)) TRY(existing_file(c->settings.dst_path, policy, write));
    if (!*write) return NULL;
    TRY(builder_build(b, pack_config_fields, c));
    return identify_tokenizer(a, root, &c->settings);
}

Error *pack_as_configured(Arena *a, const char *config_path, const Yaml *root,
                          ExistingPolicy policy, const Crew *crew)
{
    Work *w = NEW(a, Work);
    bool write = true;
    Error *e = prepare(a, config_path, root, policy, crew, w, &write);
    double is_left_out = !write;
    TRY(consensus_reach(crew->consensus, e, &is_left_out, 1));
    if (is_left_out > 0) return NULL;
    signal_catch();
    SharedOutput output = {
        .path = w->config.settings.dst_path, .context = w, .make = make, .join = join
    };
    if (sharing_of(crew).n > 1) /* else nothing is named by it, and a pipe can be read once only */
        TRY(consensus_error(crew->consensus, key_of(a, root, &w->config.settings, &output.key)));
    TRY(sharing_make(a, crew, &output));
    if (sharing_of(crew).n <= 1) tell(&w->config.settings, &w->done);
    return NULL;
}

/* The first document that differs. */
static Error *compare(Arena *a, const char *there, const char *again)
{
    Pbin x, y;
    PbinDocuments xs, ys;
    IndexEntry p, q;
    TRY(pbin_open(a, there, &x));
    TRY(pbin_open(a, again, &y));
    if (x.token_bytes != y.token_bytes)
        return error_new("%s has tokens of %d bytes, the tokenizer gives %d", there, x.token_bytes,
                         y.token_bytes);
    TRY(pbin_documents_open(a, &x, &xs));
    TRY(pbin_documents_open(a, &y, &ys));
    for (int64_t i = 0; pbin_documents_next(&xs, &p) && pbin_documents_next(&ys, &q); i++) {
        const int64_t from = p.offset / x.token_bytes, n = p.length / x.token_bytes,
                      m = q.length / x.token_bytes;
        for (int64_t k = 0; k < n && k < m; k++)
            if (pbin_token(&x, from + k) != pbin_token(&y, q.offset / x.token_bytes + k))
                return error_new("%s: document %lld: token %lld is %u, the tokenizer gives %u",
                                 there, (long long)i, (long long)k, pbin_token(&x, from + k),
                                 pbin_token(&y, q.offset / x.token_bytes + k));
        if (n != m)
            return error_new("%s: document %lld has %lld tokens, the tokenizer gives %lld", there,
                             (long long)i, (long long)n, (long long)m);
    }
    if (xs.n != ys.n)
        return error_new("%s has %lld documents, the source gives %lld", there, (long long)xs.n,
                         (long long)ys.n);
    printf("%s: fine: %lld documents, %lld tokens are what the tokenizer gives\n", there,
           (long long)xs.n, (long long)x.n_tokens);
    return NULL;
}

Error *verify_as_configured(Arena *a, const char *config_path, const Yaml *root)
{
    Work *w = NEW(a, Work);
    const Crew alone = { .rank = &rank_alone };
    bool write = true, made;
    TRY(prepare(a, config_path, root, EXISTING_OVERRIDE, &alone, w, &write));
    const char *there = w->config.settings.dst_path, *again = arena_printf(a, "%s.again", there);
    if (!file_exists(there)) return error_new("%s is not there", there);
    w->config.settings.tokenizer_identity = NULL; /* what is interrupted is not gone on with */
    signal_catch();
    TRY(make(w, again, (Share){ 0 }, &made));
    Error *e = compare(a, there, again);
    return error_join(e, remove_tree(again));
}
