/* trace.c - shows what the normalizer and the model of a .model file make of a text.
 */
#include "tokenizer/sentencepiece/encoder.h"

typedef struct Pieces {
    Arena *arena;
    TraceItem *item;
    int64_t n, cap;
} Pieces;

static void add(void *to, Str piece, uint32_t id)
{
    (void)id;
    Pieces *p = to;
    p->item = arena_grow(p->arena, p->item, p->n, &p->cap, sizeof *p->item);
    p->item[p->n++] =
        (TraceItem){ { arena_string_n(p->arena, piece.ptr, piece.len), piece.len }, true };
}

Error *sp_trace(const Tokenizer *self, Str text, TraceShow *show, void *arg)
{
    const SentencePiece *t = (const SentencePiece *)self;
    TRY(tokenizer_check_text(text));
    Text normalized = { 0 }, spelled = { 0 };
    text_puts(&spelled, "");
    sp_normalize(&t->normalizer, text, &normalized);
    sp_add_spelled(&t->file, (Str){ normalized.ptr, normalized.len }, &spelled);
    TraceItem whole = { .text = { spelled.ptr, spelled.len } };
    show(arg, "normalizer", &whole, spelled.len > 0);
    Pieces pieces = { .arena = arena_new() };
    Error *e = sentencepiece_pieces(self, text, add, &pieces);
    if (!e) show(arg, self->kind, pieces.item, pieces.n);
    arena_free(pieces.arena);
    text_free(&normalized);
    text_free(&spelled);
    return e;
}
