/* decoder.c - the table of decoders, and the flow of tokens through their steps. */
#include "tokenizer/decode/decoder.h"
#include "tokenizer/decode/steps.h"

void decoder_append(DecoderLoading *l, const DecoderStep *step)
{
    Decoder *d = l->to;
    d->step = arena_grow(l->arena, d->step, d->n_steps, &d->cap, sizeof *d->step);
    d->step[d->n_steps++] = step;
}

static Error *load_sequence(JsonNode at, void *loading);

static const JsonStage decoders[] = {
    { "BPEDecoder", decoder_load_bpe },
    { "ByteFallback", decoder_load_byte_fallback },
    { "ByteLevel", decoder_load_byte_level },
    { "CTC", decoder_load_ctc },
    { "Fuse", decoder_load_fuse },
    { "Metaspace", decoder_load_metaspace },
    { "Replace", decoder_load_replace },
    { "Sequence", load_sequence },
    { "Strip", decoder_load_strip },
    { "WordPiece", decoder_load_word_piece },
    { 0 },
};

static Error *load_sequence(JsonNode at, void *loading)
{
    return json_load_stages(at, "decoders", decoders, loading);
}

Error *decoder_load(JsonNode at, Arena *a, Decoder *out)
{
    *out = (Decoder){ 0 };
    DecoderLoading l = { a, out };
    if (json_node_is_null(at))
        decoder_append(&l, &blank_step);
    else
        TRY(json_load_stage(at, decoders, NULL, &l));
    while (out->n_first < out->n_steps && out->step[out->n_first]->token &&
           !out->step[out->n_first]->needs_index)
        out->n_first++;
    return NULL;
}

Error *decoder_piece(const Decoder *d, Str name, RegexRoom *room, Text *out)
{
    Text made[2] = { { 0 } };
    Error *e = NULL;
    for (int64_t i = 0; i < d->n_first && !e; i++) {
        Text *to = &made[i % 2];
        text_clear(to);
        e = d->step[i]->token(d->step[i], name, 0, room, to);
        name = (Str){ to->ptr ? to->ptr : "", to->len };
    }
    if (!e) text_add(out, name.ptr, name.len);
    for (int i = 0; i < 2; i++) text_free(&made[i]);
    return e;
}

bool decoder_only_repairs(const Decoder *d)
{
    return d->n_steps == d->n_first + 1 && d->step[d->n_first] == &repair_step;
}

struct DecodeFlow {
    Arena *arena;
    DecodeStage *stage; /* one per step, then one that writes */
    int64_t n_stages;
    RegexRoom regex;
};

/* What stages do for which a step has no function of its own. */
static Error *hold_part(DecodeStage *s, Str part)
{
    text_add(&s->token, part.ptr, part.len);
    return NULL;
}

static Error *end_token(DecodeStage *s)
{
    text_clear(&s->made);
    TRY(s->step->token(s->step, (Str){ s->token.ptr ? s->token.ptr : "", s->token.len }, s->n++,
                       s->regex, &s->made));
    text_clear(&s->token);
    return stage_whole(s->next, (Str){ s->made.ptr ? s->made.ptr : "", s->made.len });
}

Error *stage_part(DecodeStage *s, Str part)
{
    if (!s->step) {
        text_add(s->out, part.ptr, part.len);
        return NULL;
    }
    return (s->step->part ? s->step->part : hold_part)(s, part);
}

Error *stage_end(DecodeStage *s)
{
    if (!s->step) return NULL;
    return (s->step->end ? s->step->end : end_token)(s);
}

Error *stage_whole(DecodeStage *s, Str token)
{
    TRY(stage_part(s, token));
    return stage_end(s);
}

Error *stage_finish(DecodeStage *s)
{
    if (!s->step) return NULL;
    return s->step->finish ? s->step->finish(s) : stage_finish(s->next);
}

DecodeFlow *decode_flow_new(const Decoder *d)
{
    Arena *a = arena_new();
    DecodeFlow *f = NEW(a, DecodeFlow);
    f->arena = a;
    f->n_stages = d->n_steps - d->n_first + 1;
    f->stage = NEW_N(a, DecodeStage, f->n_stages);
    for (int64_t i = 0; i < f->n_stages; i++) {
        f->stage[i].regex = &f->regex;
        if (i + 1 == f->n_stages) break;
        f->stage[i].step = d->step[d->n_first + i];
        f->stage[i].next = &f->stage[i + 1];
    }
    return f;
}

Error *decode_flow_add(DecodeFlow *f, Str piece, Text *out)
{
    f->stage[f->n_stages - 1].out = out;
    return stage_whole(f->stage, piece);
}

Error *decode_flow_finish(DecodeFlow *f, Text *out)
{
    f->stage[f->n_stages - 1].out = out;
    Error *e = stage_finish(f->stage);
    for (int64_t i = 0; i < f->n_stages; i++) {
        DecodeStage *s = &f->stage[i];
        text_clear(&s->token);
        text_clear(&s->held);
        s->n = s->n_cut = s->n_seen = 0;
        s->has_other = false;
    }
    return e;
}

void decode_flow_free(DecodeFlow *f)
{
    for (int64_t i = 0; i < f->n_stages; i++) {
        text_free(&f->stage[i].token);
        text_free(&f->stage[i].held);
        text_free(&f->stage[i].made);
    }
    regex_room_free(&f->regex);
    arena_free(f->arena);
}
