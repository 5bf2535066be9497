/* pretrained.c - joins tokenizer.json, the settings beside it and those of the component. */
#include "tokenizer/hf/pretrained.h"
#include "base/file.h"
#include "tokenizer/decode/cleanup.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/hf/pretrained_config.h"
#include <string.h>

typedef struct Pretrained {
    Tokenizer base; /* mostly that of `hf` */
    Arena *arena;
    HfTokenizer *hf;
    PretrainedConfig config;
    bool cleans_up;
    bool lacks_pad_token; /* padding was asked for */
} Pretrained;

static bool is_role_token(const PretrainedConfig *c, Str content)
{
    for (int i = 0; i < N_TOKEN_ROLES; i++) {
        if (c->role[i].token.content.ptr && str_equal(c->role[i].token.content, content))
            return true;
    }
    for (int64_t i = 0; i < c->n_additional; i++) {
        if (str_equal(c->additional[i].token.content, content)) return true;
    }
    return false;
}

static void add_role_token(HfTokenizer *hf, const RoleToken *r)
{
    if (!r->token.content.len) return;
    AddedToken token = { .content = r->token.content, .lstrip = r->token.lstrip, .special = true };
    if (r->has_flags) {
        token = r->token;
        token.special = true;
    } else if (added_tokens_has(hf->added, token.content)) {
        return;
    }
    added_tokens_add(hf->added, &token, 1);
}

/* What transformers adds when it loads a folder: the listed tokens with their flags, special if
 * they have a role, then the tokens of roles that are not there yet. */
static void add_configured_tokens(Pretrained *p)
{
    const PretrainedConfig *c = &p->config;
    AddedToken *token = c->added;
    int64_t n = c->n_added;
    if (!c->has_added) n = added_tokens_list(p->hf->added, p->arena, &token);
    for (int64_t i = 0; i < n; i++) token[i].special |= is_role_token(c, token[i].content);
    added_tokens_add(p->hf->added, token, n);
    for (int i = 0; i < N_TOKEN_ROLES; i++) add_role_token(p->hf, &c->role[i]);
    for (int64_t i = 0; i < c->n_additional; i++) add_role_token(p->hf, &c->additional[i]);
}

static void apply_config(Pretrained *p)
{
    const PretrainedConfig *c = &p->config;
    if (!c->exists) return;
    add_configured_tokens(p);
    if (p->hf->pretokenizer.has_prefix_setting)
        p->hf->pretokenizer.add_prefix_space = c->add_prefix_space;
    p->hf->split_special = c->split_special;
    p->cleans_up = c->clean_up_spaces;
}

static int role_index(const char *name)
{
    for (int i = 0; i < N_TOKEN_ROLES; i++) {
        if (!strcmp(token_roles[i], name)) return i;
    }
    return -1;
}

/* Tokens named by the component must be known: a model's embedding cannot grow. */
static Error *add_setting_tokens(Pretrained *p, const PretrainedHf *s)
{
    PretrainedConfig *c = &p->config;
    int64_t before = added_tokens_count(p->hf->added);
    RoleToken *additional = NEW_N(p->arena, RoleToken, c->n_additional + s->n_special_tokens);
    if (c->n_additional)
        memcpy(additional, c->additional, (size_t)c->n_additional * sizeof *additional);
    c->additional = additional;
    for (int i = 0; i < s->n_special_tokens; i++) {
        const SpecialToken *t = &s->special_tokens[i];
        RoleToken token = { .token = { .content = str_of(arena_string(p->arena, t->token)),
                                       .special = true },
                            .has_flags = true };
        int role = role_index(t->role);
        if (role >= 0)
            c->role[role] = token;
        else if (!strcmp(t->role, "additional_special_tokens"))
            c->additional[c->n_additional++] = token;
        else
            return error_new(
                "special_tokens: \"%s\" is no role of a token (roles: bos_token, eos_token, "
                "unk_token, "
                "sep_token, pad_token, cls_token, mask_token, additional_special_tokens)",
                t->role);
        add_role_token(p->hf, &token);
        int64_t after = added_tokens_count(p->hf->added);
        if (after == before) continue;
        return error_new("special_tokens: \"%s\" (%s) is not in the vocabulary, and only known "
                         "tokens can be named: "
                         "the vocabulary would grow from %lld to %lld",
                         t->token, t->role, (long long)before, (long long)after);
    }
    return NULL;
}

/* Which limit holds: the setting, else the one the folder names. -1: none. */
static int64_t limit_of(const Pretrained *p, const PretrainedHf *s)
{
    return s->max_length >= 0 ? s->max_length : p->config.model_max_length;
}

static bool is_left(Str side, bool otherwise)
{
    return side.ptr ? str_is(side, "left") : otherwise;
}

/* The rule in tokenizer.json is replaced; only its sides and its pad token are kept as defaults. */
static void set_length(Pretrained *p, const PretrainedHf *s)
{
    const PretrainedConfig *c = &p->config;
    LengthRule file = p->hf->length, rule = { 0 };
    int64_t limit = limit_of(p, s);
    rule.truncates = s->truncation && limit >= 0;
    rule.max = limit;
    rule.cuts_left = is_left(c->truncation_side, file.cuts_left);
    rule.pads = s->padding == PADDING_MAX_LENGTH && limit >= 0;
    rule.pad_to = limit;
    rule.pads_left = is_left(c->padding_side, file.pads_left);
    Str pad = c->role[PAD_ROLE].token.content;
    rule.pad_id = pad.ptr ? added_tokens_id(p->hf->added, pad) : file.pads ? file.pad_id : NO_TOKEN;
    p->lacks_pad_token = (rule.pads || s->padding == PADDING_LONGEST) && rule.pad_id == NO_TOKEN;
    p->hf->length = rule;
}

static Encoder *encoder_new(const Tokenizer *self)
{
    Encoder *e = hf_encoder_new(&((const Pretrained *)self)->hf->base);
    e->tokenizer = self;
    return e;
}

static Error *encode(Encoder *e, Str text, bool add_special_tokens, Ids *out)
{
    if (((const Pretrained *)e->tokenizer)->lacks_pad_token) {
        return error_new(
            "padding needs a pad token: name one with special_tokens: {pad_token: ...}");
    }
    return hf_encoder_encode(e, text, add_special_tokens, out);
}

static Error *decode(const Tokenizer *self, const uint32_t *id, int64_t n, bool skip_special,
                     Text *out)
{
    const Pretrained *p = (const Pretrained *)self;
    size_t from = out->len;
    TRY(p->hf->base.decode(&p->hf->base, id, n, skip_special, out));
    if (p->cleans_up) decode_cleanup(out, from);
    return NULL;
}

/* A stream with clean-up: of the text since everything was settled, what cleaning leaves settled is
 * handed on. */
typedef struct CleanStream {
    TokenStream base;
    TokenStream *inner;
    Text tail, cleaned; /* tail: as decoded */
    size_t n_given;     /* leading bytes of `cleaned` that were handed on */
} CleanStream;

static void give(CleanStream *s, bool is_all, Text *out)
{
    text_clear(&s->cleaned);
    text_add(&s->cleaned, s->tail.ptr, s->tail.len);
    decode_cleanup(&s->cleaned, 0);
    Str cleaned = { s->cleaned.ptr, s->cleaned.len };
    size_t until = is_all ? cleaned.len : decode_cleanup_settled(cleaned);
    if (until > s->n_given) {
        text_add(out, cleaned.ptr + s->n_given, until - s->n_given);
        s->n_given = until;
    }
    if (until < cleaned.len) return;
    text_clear(&s->tail);
    s->n_given = 0;
}

static Error *clean_add(TokenStream *self, uint32_t id, Text *out)
{
    CleanStream *s = (CleanStream *)self;
    size_t before = s->tail.len;
    TRY(s->inner->add(s->inner, id, &s->tail));
    if (s->tail.len > before) give(s, false, out);
    return NULL;
}

static Error *clean_finish(TokenStream *self, Text *out)
{
    CleanStream *s = (CleanStream *)self;
    TRY(s->inner->finish(s->inner, &s->tail));
    give(s, true, out);
    return NULL;
}

static void clean_free(void *arg)
{
    CleanStream *s = arg;
    text_free(&s->tail);
    text_free(&s->cleaned);
}

static TokenStream *stream_new(const Tokenizer *self, bool skip_special, Arena *a)
{
    const Pretrained *p = (const Pretrained *)self;
    TokenStream *inner = p->hf->base.stream_new(&p->hf->base, skip_special, a);
    if (!p->cleans_up) return inner;
    CleanStream *s = NEW(a, CleanStream);
    *s = (CleanStream){ .base = { clean_add, clean_finish }, .inner = inner };
    arena_on_free(a, clean_free, s);
    return &s->base;
}

static int64_t token_id(const Tokenizer *self, Str token)
{
    const Tokenizer *hf = &((const Pretrained *)self)->hf->base;
    return hf->token_id(hf, token);
}

static bool token_name(const Tokenizer *self, uint32_t id, Str *out)
{
    const Tokenizer *hf = &((const Pretrained *)self)->hf->base;
    return hf->token_name(hf, id, out);
}

static bool is_special(const Tokenizer *self, uint32_t id)
{
    Str name;
    return token_name(self, id, &name) && is_role_token(&((const Pretrained *)self)->config, name);
}

static void close_pretrained(Tokenizer *self)
{
    Pretrained *p = (Pretrained *)self;
    hf_tokenizer_free(p->hf);
    arena_free(p->arena);
}

static Error *finish(Pretrained *p)
{
    TRY(hf_tokenizer_finish(p->hf));
    p->base = p->hf->base;
    Str unk = p->config.role[UNK_ROLE].token.content;
    uint32_t unk_id = unk.ptr ? added_tokens_id(p->hf->added, unk) : NO_TOKEN;
    p->base.unk_id = unk_id == NO_TOKEN ? -1 : (int64_t)unk_id;
    p->base.encoder_new = encoder_new;
    p->base.encode = encode;
    p->base.decode = decode;
    p->base.stream_new = stream_new;
    p->base.trace = NULL;
    p->base.token_id = token_id;
    p->base.token_name = token_name;
    p->base.is_special = is_special;
    p->base.close = close_pretrained;
    return NULL;
}

/* The id of a token that is put around texts. */
static Error *wrapping_id(const Pretrained *p, int role, bool is_wanted, uint32_t *id,
                          const uint32_t **out)
{
    const Str token = p->config.role[role].token.content;
    *out = is_wanted ? id : NULL;
    if (!is_wanted) return NULL;
    *id = token.ptr ? added_tokens_id(p->hf->added, token) : NO_TOKEN;
    if (*id != NO_TOKEN) return NULL;
    return error_new("tokenizer_config.json says add_%s, but there is no %s", token_roles[role],
                     token_roles[role]);
}

static Error *wrap_texts(Pretrained *p)
{
    const PretrainedConfig *c = &p->config;
    uint32_t id[2];
    const uint32_t *front, *behind;
    if (!c->wraps) return NULL;
    TRY(wrapping_id(p, BOS_ROLE, c->adds_bos, &id[0], &front));
    TRY(wrapping_id(p, EOS_ROLE, c->adds_eos, &id[1], &behind));
    p->hf->post_processor = post_processor_around(p->hf->arena, front, behind);
    return NULL;
}

static Error *configure(Pretrained *p, const PretrainedHf *s, const char *file)
{
    TRY(pretrained_config_read(p->arena, path_folder(p->arena, file), &p->config));
    apply_config(p);
    TRY(error_wrap(wrap_texts(p), "%s", file));
    TRY(error_wrap(add_setting_tokens(p, s), "%s", file));
    set_length(p, s);
    return error_wrap(finish(p), "%s", file);
}

static Error *read_tokenizer(Pretrained *p, const char *file)
{
    if (file_exists(file)) return hf_tokenizer_read(file, &p->hf);
    return error_as_absent(error_new(
        "there is no %s (nothing is downloaded: name a folder with tokenizer.json)", file));
}

Error *pretrained_hf_open(const PretrainedHf *settings, Tokenizer **out)
{
    Arena *a = arena_new();
    Pretrained *p = NEW(a, Pretrained);
    p->arena = a;
    const char *file = hf_tokenizer_path(a, settings->path);
    Error *e = read_tokenizer(p, file);
    if (e) {
        arena_free(a);
        return e;
    }
    e = configure(p, settings, file);
    if (e)
        close_pretrained(&p->base);
    else
        *out = &p->base;
    return e;
}
