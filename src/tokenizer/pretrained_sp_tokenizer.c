/* pretrained_sp_tokenizer.c - tokenizer.pretrained_sp_tokenizer: a SentencePiece .model file. */
#include "config/builder.h"
#include "tokenizer/sentencepiece/sentencepiece.h"

typedef struct Settings {
    const char *tokenizer_model_file;
} Settings;

static const Field fields[] = {
    FIELD_STRING(Settings, tokenizer_model_file, NULL, "the .model file",
                 .role = PATH_READ_TOKENIZER),
    { 0 },
};

static void release(void *tokenizer)
{
    ((Tokenizer *)tokenizer)->close(tokenizer);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Tokenizer *t;
    TRY(sentencepiece_open(((const Settings *)settings)->tokenizer_model_file, NULL, &t));
    arena_on_free(builder_arena(b), release, t);
    *out = t;
    return NULL;
}

const ComponentDef tokenizer_pretrained_sp_tokenizer = {
    .kind = "tokenizer",
    .variant = "pretrained_sp_tokenizer",
    .doc = "A SentencePiece .model file; no bos or eos is added.",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
