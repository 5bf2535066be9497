/* sentencepiece.c - opens a .model file and answers for its pieces. */
#include "tokenizer/sentencepiece/sentencepiece.h"
#include "base/file.h"
#include "tokenizer/sentencepiece/encoder.h"

/* The id of a control piece by the name that the trainer gave it, or -1. */
static int64_t control_id(const SpFile *f, Str name)
{
    uint32_t id = sp_file_id(f, name);
    return f->type[id] == SP_CONTROL ? (int64_t)id : -1;
}

static int64_t token_id(const Tokenizer *self, Str token)
{
    const SpFile *f = &((const SentencePiece *)self)->file;
    uint32_t id = sp_file_id(f, token);
    return str_equal(f->name[id], token) ? (int64_t)id : -1;
}

static bool token_name(const Tokenizer *self, uint32_t id, Str *out)
{
    const SpFile *f = &((const SentencePiece *)self)->file;
    if (id >= f->n) return false;
    *out = f->name[id];
    return true;
}

static bool is_special(const Tokenizer *self, uint32_t id)
{
    const SpFile *f = &((const SentencePiece *)self)->file;
    return id < f->n && f->type[id] == SP_CONTROL;
}

static void close_tokenizer(Tokenizer *self)
{
    arena_free(((SentencePiece *)self)->arena);
}

static Error *check_options(const SentencePiece *t)
{
    if (t->options.add_bos && t->special.bos < 0)
        return error_new("add_bos: no control piece begins a text in this model");
    if (t->options.add_eos && t->special.eos < 0)
        return error_new("add_eos: no control piece ends a text in this model");
    return NULL;
}

static Error *open_into(SentencePiece *t, const char *path, Arena *scratch)
{
    Str bytes;
    TRY(file_read(scratch, path, &bytes));
    SpFile *f = &t->file;
    TRY(error_wrap(sp_file_read(t->arena, bytes, f), "%s", path));
    t->normalizer = sp_normalizer_new(t->arena, f, &f->rules, true);
    t->denormalizer = sp_normalizer_new(t->arena, f, &f->denormalizer, false);
    TRY(error_wrap(sp_model_new(t->arena, f, &t->model), "%s", path));
    t->special = (SpSpecialIds){ control_id(f, f->bos_piece), control_id(f, f->eos_piece),
                                 control_id(f, f->pad_piece), f->unk_id };
    return error_wrap(check_options(t), "%s", path);
}

Error *sentencepiece_open(const char *path, const SpOptions *options, Tokenizer **out)
{
    Arena *a = arena_new(), *scratch = arena_new();
    SentencePiece *t = NEW(a, SentencePiece);
    t->arena = a;
    if (options) t->options = *options;
    Error *e = open_into(t, path, scratch);
    arena_free(scratch);
    if (e) {
        arena_free(a);
        return e;
    }
    t->base = (Tokenizer){
        .kind = t->model->base.kind,
        .vocab_size = t->file.n,
        .n_ids = t->file.n,
        .unk_id = -1, /* an unknown name is an error, as in the original */
        .encoder_new = sp_encoder_new,
        .encode = sp_encoder_encode,
        .encoder_free = sp_encoder_free,
        .trace = sp_trace,
        .encode_offsets = options ? NULL : sp_encode_offsets,
        .decode = sp_decode,
        .stream_new = sp_stream_new,
        .token_id = token_id,
        .token_name = token_name,
        .is_special = is_special,
        .close = close_tokenizer,
    };
    *out = &t->base;
    return NULL;
}

bool sentencepiece_looks_like(Str start)
{
    return sp_file_looks_like(start);
}

Error *sentencepiece_pieces(const Tokenizer *self, Str text,
                            void (*add)(void *to, Str piece, uint32_t id), void *to)
{
    const SentencePiece *t = (const SentencePiece *)self;
    TRY(tokenizer_check_text(text));
    Text normalized = { 0 };
    Buffer symbols = { 0 }, work = { 0 };
    sp_normalize(&t->normalizer, text, &normalized);
    Str s = { normalized.ptr, normalized.len };
    uint32_t *symbol = buffer_grow(&symbols, (s.len + 1) * sizeof *symbol);
    int64_t n = s.len ? t->model->symbolize(t->model, &work, s, symbol) : 0;
    sp_model_pieces(t->model, s, symbol, n, add, to);
    text_free(&normalized);
    buffer_free(&symbols);
    buffer_free(&work);
    return NULL;
}

SpSpecialIds sentencepiece_special_ids(const Tokenizer *t)
{
    return ((const SentencePiece *)t)->special;
}
