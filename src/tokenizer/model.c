/* model.c - the table of models. */
#include "tokenizer/bpe.h"

typedef struct Loading {
    Arena *arena;
    bool byte_words;
    Model **out;
} Loading;

static Error *load_bpe(JsonNode at, void *out)
{
    Loading *l = out;
    return bpe_load(at, l->byte_words, l->arena, l->out);
}

static const JsonStage models[] = {
    { "BPE", load_bpe },
    { 0 },
};

Error *model_load(JsonNode at, bool byte_words, Arena *a, Model **out)
{
    Loading l = { a, byte_words, out };
    /* Files of before 2020 name no type; BPE is the model that has merges. */
    return json_load_stage(at, models, json_member(at, "merges").value ? "BPE" : NULL, &l);
}
