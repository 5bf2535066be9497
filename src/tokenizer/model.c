/* model.c - the table of models. */
#include "tokenizer/bpe.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unigram.h"
#include "tokenizer/wordlevel.h"
#include "tokenizer/wordpiece.h"

typedef struct Loading {
    Arena *arena;
    bool byte_words;
    Model **out;
} Loading;

typedef struct Spelled {
    Model base;
    const Model *inner;
} Spelled;

static int64_t spelled_ids(const Model *self, Buffer *scratch, Str word, uint32_t *out)
{
    const Model *inner = ((const Spelled *)self)->inner;
    Text name = { 0 };
    bytes_to_name(word, &name);
    int64_t n = inner->word_ids(inner, scratch, (Str){ name.ptr, name.len }, out);
    text_free(&name);
    return n;
}

static void spelled_spans(const Model *self, Buffer *scratch, Str word, const uint32_t *id,
                          int64_t n, Span *out)
{
    const Model *inner = ((const Spelled *)self)->inner;
    inner->spans(inner, scratch, word, id, n, out);
}

Model *model_spelled(Arena *a, const Model *inner)
{
    Spelled *s = NEW(a, Spelled);
    s->base = *inner;
    s->inner = inner;
    s->base.ids_per_byte *= 2; /* a byte is at most two bytes of name */
    s->base.word_ids = spelled_ids;
    s->base.spans = spelled_spans;
    s->base.cut = NULL;
    return &s->base;
}

static Error *load_bpe(JsonNode at, void *out)
{
    Loading *l = out;
    return bpe_load(at, l->byte_words, l->arena, l->out);
}

typedef Error *LoadText(JsonNode at, Arena *a, Model **out);

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

Error *model_load(JsonNode at, bool byte_words, Arena *a, Model **out)
{
    Loading l = { a, byte_words, out };
    return json_load_stage(at, models, untyped(at), &l);
}
