/* model_load.c - the table of models. */
#include "tokenizer/hf/model_load.h"
#include "tokenizer/bpe/bpe.h"
#include "tokenizer/model/wordlevel.h"
#include "tokenizer/model/wordpiece.h"
#include "tokenizer/unigram/unigram.h"

typedef struct Loading {
    Arena *arena;
    bool byte_words;
    WordModel **out;
} Loading;

static Error *load_bpe(JsonNode at, void *out)
{
    Loading *l = out;
    return bpe_load(at, l->byte_words, l->arena, l->out);
}

typedef Error *LoadText(JsonNode at, Arena *a, WordModel **out);

/* Models that know nothing of bytes. */
static Error *load_text(LoadText *load, JsonNode at, void *out)
{
    Loading *l = out;
    TRY(load(at, l->arena, l->out));
    if (l->byte_words) *l->out = model_spelled(l->arena, *l->out);
    return NULL;
}

static Error *load_wordpiece(JsonNode at, void *out)
{
    return load_text(wordpiece_load, at, out);
}

static Error *load_wordlevel(JsonNode at, void *out)
{
    return load_text(wordlevel_load, at, out);
}

static Error *load_unigram(JsonNode at, void *out)
{
    return load_text(unigram_load, at, out);
}

static const JsonStage models[] = {
    { "BPE", load_bpe },
    { "WordPiece", load_wordpiece },
    { "WordLevel", load_wordlevel },
    { "Unigram", load_unigram },
    { 0 },
};

/* Files of before 2020 name no type; it shows in the members that only one kind has. */
static const char *untyped(JsonNode at)
{
    if (json_member(at, "merges").value) return "BPE";
    if (json_is_array(json_member(at, "vocab").value)) return "Unigram";
    if (json_member(at, "max_input_chars_per_word").value) return "WordPiece";
    return json_member(at, "unk_token").value ? "WordLevel" : NULL;
}

Error *model_load(JsonNode at, bool byte_words, Arena *a, WordModel **out)
{
    Loading l = { a, byte_words, out };
    return json_load_stage(at, models, untyped(at), &l);
}
