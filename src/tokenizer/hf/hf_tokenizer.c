/* hf_tokenizer.c - loads a tokenizer.json stage by stage, and decodes. */
#include "tokenizer/hf/hf_tokenizer.h"
#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/bpe/bpe.h"
#include "tokenizer/hf/model_load.h"
#include "tokenizer/hf/post_processor.h"
#include "tokenizer/normalize/normalizer.h"
#include <string.h>

const char *hf_tokenizer_path(Arena *a, const char *path)
{
    return is_directory(path) ? path_join(a, path, "tokenizer.json") : path;
}

static Error *load_stages(HfTokenizer *t, JsonNode root)
{
    static const char *const known[] = {
        "version",       "truncation",     "padding", "added_tokens", "normalizer",
        "pre_tokenizer", "post_processor", "decoder", "model",        NULL
    };
    TRY(json_node_only(root, known));
    JsonNode model = json_member(root, "model");
    if (!model.value) return error_new("no tokenizer.json: it has no member \"model\"");
    TRY(normalizer_load(json_member(root, "normalizer"), t->arena, &t->normalizer));
    TRY(pretokenizer_load(json_member(root, "pre_tokenizer"), t->normalizer.is_spelled, t->arena,
                          &t->pretokenizer));
    TRY(blanks_load(root, &t->blanks));
    TRY(model_load(model, t->pretokenizer.byte_words, t->arena, &t->model));
    t->added = added_tokens_new(t->arena, t->model->vocab);
    JsonNode added = json_member(root, "added_tokens");
    if (!json_node_is_null(added)) TRY(added_tokens_load(added, t->added));
    TRY(post_processor_load(json_member(root, "post_processor"), t->arena,
                            added_tokens_n_ids(t->added), &t->post_processor));
    TRY(decoder_load(json_member(root, "decoder"), t->arena, &t->decoder));
    return length_rule_load(json_member(root, "truncation"), json_member(root, "padding"),
                            added_tokens_n_ids(t->added), &t->length);
}

static Error *read_into(HfTokenizer *t, const char *file, Arena *scratch)
{
    JsonNode root;
    TRY(json_node_read(scratch, file, 0, &root));
    return error_wrap(load_stages(t, root), "%s", file);
}

Error *hf_tokenizer_read(const char *file, HfTokenizer **out)
{
    Arena *a = arena_new(), *scratch = arena_new();
    HfTokenizer *t = NEW(a, HfTokenizer);
    t->arena = a;
    Error *e = read_into(t, file, scratch);
    arena_free(scratch);
    if (e)
        arena_free(a);
    else
        *out = t;
    return e;
}

void hf_tokenizer_free(HfTokenizer *t)
{
    arena_free(t->arena);
}

/* What every id contributes to the flow of the decoder, in one block. */
static Error *fill_pieces(HfTokenizer *t, size_t *at, RegexRoom *room, Text *all)
{
    int64_t n = t->base.n_ids;
    for (int64_t id = 0; id < n; id++) {
        at[id] = all->len;
        Str name = added_tokens_name(t->added, (uint32_t)id);
        if (!name.ptr) continue;
        t->special[id] = added_tokens_is_special(t->added, name);
        TRY(decoder_piece(&t->decoder, name, room, all));
    }
    at[n] = all->len;
    return NULL;
}

static Error *make_pieces(HfTokenizer *t)
{
    Text all = { 0 };
    RegexRoom room = { 0 };
    int64_t n = t->base.n_ids;
    size_t *at = NEW_N(t->arena, size_t, n + 1);
    t->special = NEW_N(t->arena, bool, n);
    t->piece = NEW_N(t->arena, Str, n);
    text_puts(&all, "");
    Error *e = fill_pieces(t, at, &room, &all);
    const char *block = arena_string_n(t->arena, all.ptr, all.len);
    for (int64_t id = 0; id < n && !e; id++) {
        if (!added_tokens_name(t->added, (uint32_t)id).ptr) continue;
        t->piece[id] = (Str){ block + at[id], at[id + 1] - at[id] };
    }
    text_free(&all);
    regex_room_free(&room);
    return error_wrap(e, "decoder");
}

/* Does an id count, or is it skipped? */
static bool is_shown(const HfTokenizer *t, uint32_t id, bool skip_special)
{
    return id < t->base.n_ids && t->piece[id].ptr && !(skip_special && t->special[id]);
}

static void decode_bytes(const HfTokenizer *t, const uint32_t *id, int64_t n, bool skip_special,
                         Text *out)
{
    Text joined = { 0 };
    for (int64_t i = 0; i < n; i++) {
        if (is_shown(t, id[i], skip_special))
            text_add(&joined, t->piece[id[i]].ptr, t->piece[id[i]].len);
    }
    utf8_add_repaired(out, (Str){ joined.ptr, joined.len });
    text_free(&joined);
}

static Error *decode(const Tokenizer *self, const uint32_t *id, int64_t n, bool skip_special,
                     Text *out)
{
    const HfTokenizer *t = (const HfTokenizer *)self;
    if (decoder_only_repairs(&t->decoder)) {
        decode_bytes(t, id, n, skip_special, out);
        return NULL;
    }
    DecodeFlow *flow = decode_flow_new(&t->decoder);
    Error *e = NULL;
    for (int64_t i = 0; i < n && !e; i++) {
        if (is_shown(t, id[i], skip_special)) e = decode_flow_add(flow, t->piece[id[i]], out);
    }
    if (!e) e = decode_flow_finish(flow, out);
    decode_flow_free(flow);
    return e;
}

/* The same id by id. */
typedef struct HfStream {
    TokenStream base;
    const HfTokenizer *tokenizer;
    bool skip_special;
    DecodeFlow *flow;
} HfStream;

static Error *stream_add(TokenStream *self, uint32_t id, Text *out)
{
    HfStream *s = (HfStream *)self;
    if (!is_shown(s->tokenizer, id, s->skip_special)) return NULL;
    return decode_flow_add(s->flow, s->tokenizer->piece[id], out);
}

static Error *stream_finish(TokenStream *self, Text *out)
{
    return decode_flow_finish(((HfStream *)self)->flow, out);
}

static void stream_free(void *flow)
{
    decode_flow_free(flow);
}

static TokenStream *stream_new(const Tokenizer *self, bool skip_special, Arena *a)
{
    HfStream *s = NEW(a, HfStream);
    const HfTokenizer *t = (const HfTokenizer *)self;
    *s = (HfStream){ { stream_add, stream_finish }, t, skip_special, decode_flow_new(&t->decoder) };
    arena_on_free(a, stream_free, s->flow);
    return &s->base;
}

static int64_t token_id(const Tokenizer *self, Str token)
{
    uint32_t id = added_tokens_id(((const HfTokenizer *)self)->added, token);
    return id == NO_TOKEN ? -1 : (int64_t)id;
}

static bool token_name(const Tokenizer *self, uint32_t id, Str *out)
{
    *out = added_tokens_name(((const HfTokenizer *)self)->added, id);
    return out->ptr != NULL;
}

static bool is_special(const Tokenizer *self, uint32_t id)
{
    return id < self->n_ids && ((const HfTokenizer *)self)->special[id];
}

static void close_tokenizer(Tokenizer *self)
{
    hf_tokenizer_free((HfTokenizer *)self);
}

/* Tokens that are looked for in the normalized text need it as it is. */
static bool seeks_in_normalized(const HfTokenizer *t)
{
    Arena *scratch = arena_new();
    AddedToken *token;
    int64_t n = added_tokens_list(t->added, scratch, &token);
    bool found = false;
    for (int64_t i = 0; i < n; i++)
        found |= token[i].normalized && !(t->split_special && token[i].special);
    arena_free(scratch);
    return found;
}

Error *hf_tokenizer_finish(HfTokenizer *t)
{
    TRY(added_tokens_finish(t->added, t->split_special, &t->normalizer));
    if (t->blanks.apply && !t->without_cache && !seeks_in_normalized(t)) {
        bool apart = t->blanks.has_metaspace && t->blanks.metaspace.split;
        t->blank_model = bpe_with_blanks(t->arena, t->model, apart);
    }
    t->base = (Tokenizer){
        .kind = t->model->kind,
        .vocab_size = t->model->vocab->n,
        .n_ids = added_tokens_n_ids(t->added),
        .unk_id = -1,
        .encoder_new = hf_encoder_new,
        .encode = hf_encoder_encode,
        .encoder_free = hf_encoder_free,
        .encode_offsets = hf_tokenizer_encode_offsets,
        .decode = decode,
        .stream_new = stream_new,
        .token_id = token_id,
        .token_name = token_name,
        .is_special = is_special,
        .trace = hf_tokenizer_trace,
        .close = close_tokenizer,
    };
    return make_pieces(t);
}

Error *hf_tokenizer_open(const char *file, Tokenizer **out)
{
    HfTokenizer *t;
    TRY(hf_tokenizer_read(file, &t));
    Error *e = hf_tokenizer_finish(t);
    if (e)
        hf_tokenizer_free(t);
    else
        *out = &t->base;
    return e;
}
