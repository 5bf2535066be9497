/* mask_loss_collator.c - collate_fn.mask_loss_collator_wrapper: nothing is learnt outside of marked
 * spans.
 *
 * A span lies between a begin and an end token, both excluded. A row is judged by itself: one that
 * begins with an end token began inside of a span, one that ends without an end token ends inside
 * of one, so packing may cut conversations anywhere; a row without either token is masked whole. */
#include "base/log.h"
#include "config/builder.h"
#include "data/collators.h"
#include <stdatomic.h>
#include <string.h>

typedef struct MaskLossCollator {
    Collator base;
    MaskLoss settings;
    const char **target_key;
    /* Warned of a batch without targets; the collator is shared by threads. */
    atomic_bool *has_warned;
} MaskLossCollator;

static Error *unpaired(const MaskLoss *m, const char *key, int64_t row, int64_t column, bool is_end)
{
    return error_new("'%s', row %lld, place %lld: %s token %lld %s", key, (long long)row,
                     (long long)column, is_end ? "an end" : "a begin",
                     (long long)(is_end ? m->end : m->begin),
                     is_end ? "where no span is open" : "inside of a span");
}

/* Masks one row in place; a place is learnt when a span is open and it is no end token. */
static Error *mask_row(const MaskLoss *m, const char *key, int64_t row, int32_t *id, int64_t n)
{
    int64_t first = 0;
    while (first < n && id[first] != m->begin && id[first] != m->end) first++;
    bool is_open = first < n && id[first] == m->end && !m->as_original;
    for (int64_t i = 0; i < n; i++) {
        bool is_begin = id[i] == m->begin, is_end = id[i] == m->end;
        if ((is_end && !is_open) || (is_begin && is_open)) return unpaired(m, key, row, i, is_end);
        if (!is_open || is_end) id[i] = (int32_t)m->ignore;
        is_open = is_begin || (is_open && !is_end);
    }
    return NULL;
}

static bool occurs(const Tensor *t, int64_t id)
{
    const int32_t *x = t->data;
    bool found = false;
    for (int64_t i = 0; i < tensor_count(t); i++) found |= x[i] == id;
    return found;
}

static bool all_ignored(const Tensor *t, int64_t ignored)
{
    const int32_t *x = t->data;
    bool all = true;
    for (int64_t i = 0; i < tensor_count(t); i++) all &= x[i] == ignored;
    return all;
}

static Error *mask(const MaskLossCollator *c, const char *key, const Tensor *t)
{
    const MaskLoss *m = &c->settings;
    int32_t *id = t->data;
    int64_t n = t->size[t->n_dims - 1], n_rows = n ? tensor_count(t) / n : 0;
    if (m->as_original && (!occurs(t, m->begin) || !occurs(t, m->end)))
        for (int64_t i = 0; i < tensor_count(t); i++) id[i] = (int32_t)m->ignore;
    else
        for (int64_t row = 0; row < n_rows; row++) TRY(mask_row(m, key, row, id + row * n, n));
    if (all_ignored(t, m->ignore) && !atomic_exchange(c->has_warned, true))
        log_warning("a batch has no '%s' between begin and end tokens: nothing is learnt from it "
                    "(told once)",
                    key);
    return NULL;
}

static Error *collate(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const MaskLossCollator *c = (const MaskLossCollator *)self;
    TRY(c->settings.wrapped->collate(c->settings.wrapped, sample, n, out));
    for (int64_t i = 0; i < c->settings.n_keys; i++) {
        const Tensor *t = batch_find(out, c->target_key[i]);
        if (!t) return error_new("the batch has no '%s' to mask", c->target_key[i]);
        if (t->dtype != I32 || t->n_dims < 1)
            return error_new("'%s' to mask are no token ids", c->target_key[i]);
        TRY(mask(c, c->target_key[i], t));
    }
    return NULL;
}

Collator *mask_loss_collator_new(Arena *a, const MaskLoss *settings)
{
    MaskLossCollator *c = NEW(a, MaskLossCollator);
    *c = (MaskLossCollator){ .base = { .collate = collate },
                             .settings = *settings,
                             .target_key = NEW_N(a, const char *, settings->n_keys + 1),
                             .has_warned = NEW(a, atomic_bool) };
    for (int64_t i = 0; i < settings->n_keys; i++)
        c->target_key[i] = arena_string(a, settings->target_key[i]);
    return &c->base;
}

/* ---- the component ---- */

typedef struct MaskTokens {
    const char *b_include_to_loss_token, *e_include_to_loss_token;
} MaskTokens;

typedef struct Settings {
    Collator *wrapped_collate_fn;
    StringList target_keys_to_mask;
    int64_t loss_ignore_index;
    MaskTokens mask_tokens;
    Tokenizer *tokenizer;
    bool as_original;
} Settings;

static const Field token_fields[] = {
    FIELD_STRING(MaskTokens, b_include_to_loss_token, NULL, "token in front of what is learnt"),
    FIELD_STRING(MaskTokens, e_include_to_loss_token, NULL, "token after it"),
    { 0 },
};

static const Field fields[] = {
    FIELD_COMPONENT(Settings, wrapped_collate_fn, Collator, "collate_fn", NULL,
                    "makes the batch whose targets are masked"),
    FIELD_STRINGS(Settings, target_keys_to_mask, NULL, 0, 0, "the targets to mask"),
    FIELD_INT(Settings, loss_ignore_index, NULL, 0, 0,
              "written where nothing is learnt; the losses know -100"),
    FIELD_STRUCT(Settings, mask_tokens, MaskTokens, token_fields, NULL,
                 "the tokens around what is learnt"),
    FIELD_COMPONENT(Settings, tokenizer, Tokenizer, "tokenizer", NULL, "has these tokens"),
    FIELD_BOOL(
        Settings, as_original, "false",
        "a batch that lacks one of the tokens is masked whole, and a row that begins with an "
        "end token is an error, as in the original"),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *s = settings;
    const MaskTokens *m = &s->mask_tokens;
    if (s->loss_ignore_index != IGNORED_TARGET)
        return error_new("loss_ignore_index is %lld, but losses ignore %d only",
                         (long long)s->loss_ignore_index, IGNORED_TARGET);
    if (!strcmp(m->b_include_to_loss_token, m->e_include_to_loss_token))
        return error_new("b_include_to_loss_token and e_include_to_loss_token are both '%s'; they "
                         "must differ",
                         m->b_include_to_loss_token);
    return NULL;
}

static Error *find_token(const Tokenizer *t, const char *key, const char *token, int64_t *out)
{
    *out = t->token_id(t, str_of(token));
    return *out >= 0 ? NULL
                     : error_new("%s '%s' is no token of the tokenizer (a %s vocabulary of %lld "
                                 "tokens)",
                                 key, token, t->kind, (long long)t->vocab_size);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const MaskTokens *t = &s->mask_tokens;
    MaskLoss m = { .wrapped = s->wrapped_collate_fn,
                   .target_key = s->target_keys_to_mask.item,
                   .n_keys = s->target_keys_to_mask.n,
                   .ignore = s->loss_ignore_index,
                   .as_original = s->as_original };
    TRY(find_token(s->tokenizer, "b_include_to_loss_token", t->b_include_to_loss_token, &m.begin));
    TRY(find_token(s->tokenizer, "e_include_to_loss_token", t->e_include_to_loss_token, &m.end));
    *out = mask_loss_collator_new(builder_arena(b), &m);
    return NULL;
}

const ComponentDef collate_fn_mask_loss_collator_wrapper = {
    .kind = "collate_fn",
    .variant = "mask_loss_collator_wrapper",
    .doc = "learns only what lies between two tokens",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
