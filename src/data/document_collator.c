/* document_collator.c - collate_fn.document_collator_wrapper: tells the documents of a batch apart.
 */
#include "config/builder.h"
#include "data/data.h"
#include "tokenizer/tokenizer.h"
#include <string.h>

typedef struct DocumentCollator {
    Collator base;
    const Collator *wrapped;
    const char *sample_key, *document_key;
    int32_t eod;
} DocumentCollator;

/* In each row, the number of EOD tokens before a place: the EOD token belongs to what it ends. */
static Error *collate(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const DocumentCollator *c = (const DocumentCollator *)self;
    TRY(c->wrapped->collate(c->wrapped, sample, n, out));
    const Tensor *ids = batch_find(out, c->sample_key);
    if (!ids) return error_new("the batch has no '%s' to find documents in", c->sample_key);
    if (ids->dtype != I32 || ids->n_dims != 2)
        return error_new("'%s' has no rows of token ids to find documents in", c->sample_key);
    if (batch_find(out, c->document_key))
        return error_new("the batch has a '%s' already", c->document_key);
    const int32_t *id = ids->data;
    int64_t n_rows = ids->size[0], length = ids->size[1];
    int32_t *document = batch_item(out, c->document_key, I32, 2, ids->size)->data;
    for (int64_t row = 0; row < n_rows; row++) {
        int32_t number = 0;
        for (int64_t i = 0; i < length; i++, id++) {
            *document++ = number;
            number += *id == c->eod;
        }
    }
    return NULL;
}

typedef struct Settings {
    Collator *wrapped_collate_fn;
    const char *sample_key, *document_key;
    Tokenizer *tokenizer;
    const char *eod_token;
} Settings;

static const Field fields[] = {
    FIELD_COMPONENT(Settings, wrapped_collate_fn, Collator, "collate_fn", NULL,
                    "makes the batch whose documents are told apart"),
    FIELD_STRING(Settings, sample_key, NULL, "the token ids in that batch"),
    FIELD_STRING(Settings, document_key, NULL, "name of the documents, as the model knows them"),
    FIELD_COMPONENT(Settings, tokenizer, Tokenizer, "tokenizer", NULL, "has the EOD token"),
    FIELD_STRING(Settings, eod_token, NULL, "token that ends every document"),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *s = settings;
    return strcmp(s->sample_key, s->document_key)
               ? NULL
               : error_new("sample_key and document_key are both '%s'; they need two names",
                           s->sample_key);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t eod = s->tokenizer->token_id(s->tokenizer, str_of(s->eod_token));
    if (eod < 0)
        return error_new("eod_token '%s' is no token of the tokenizer (a %s vocabulary of %lld "
                         "tokens)",
                         s->eod_token, s->tokenizer->kind, (long long)s->tokenizer->vocab_size);
    DocumentCollator *c = NEW(builder_arena(b), DocumentCollator);
    *c = (DocumentCollator){ .base = { .collate = collate },
                             .wrapped = s->wrapped_collate_fn,
                             .sample_key = s->sample_key,
                             .document_key = s->document_key,
                             .eod = (int32_t)eod };
    *out = c;
    return NULL;
}

const ComponentDef collate_fn_document_collator_wrapper = {
    .kind = "collate_fn",
    .variant = "document_collator_wrapper",
    .doc = "adds the number of each token's document, for attention within documents",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
