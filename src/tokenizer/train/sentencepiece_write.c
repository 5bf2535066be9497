/* sentencepiece_write.c - a .model file: a ModelProto message with the pieces and the settings they
 * were learnt with (sentencepiece/file.c reads what matters of it). */
#include "tokenizer/format/protobuf.h"
#include "tokenizer/train/sentencepiece.h"
#include <string.h>

static void put_varint(Text *to, uint64_t x)
{
    for (; x >= 0x80; x >>= 7) text_putc(to, (char)(x | 0x80));
    text_putc(to, (char)x);
}

static void put_tag(Text *to, uint32_t field, WireType type)
{
    put_varint(to, (uint64_t)field << 3 | type);
}

/* Negative numbers take ten bytes, as the format has it. */
static void put_int(Text *to, uint32_t field, int64_t x)
{
    put_tag(to, field, WIRE_VARINT);
    put_varint(to, (uint64_t)x);
}

static void put_float(Text *to, uint32_t field, double x)
{
    float f = (float)x;
    put_tag(to, field, WIRE_FIXED32);
    text_add(to, &f, sizeof f);
}

static void put_bytes(Text *to, uint32_t field, Str bytes)
{
    put_tag(to, field, WIRE_BYTES);
    put_varint(to, bytes.len);
    text_add(to, bytes.ptr, bytes.len);
}

static void put_string(Text *to, uint32_t field, const char *s)
{
    put_bytes(to, field, str_of(s));
}

/* Puts a message and empties it. */
static void put_message(Text *to, uint32_t field, Text *message)
{
    put_bytes(to, field, (Str){ message->ptr, message->len });
    text_clear(message);
}

static void put_piece(Text *to, Text *room, Str name, double score, SpType type)
{
    put_bytes(room, 1, name);
    put_float(room, 2, score);
    if (type != SP_NORMAL) put_int(room, 3, type);
    put_message(to, 1, room);
}

/* What is read from, and what kind of texts may be pieces. The number of threads is not told: it
 * changes nothing. */
static void put_trainer(Text *to, const TrainSettings *s, SpKind kind, int64_t n_ids)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    for (int64_t i = 0; i < s->corpus.n_paths; i++) put_string(to, 1, s->corpus.path[i]);
    put_int(to, 3, kind);
    put_int(to, 4, n_ids);
    put_float(to, 10, sp->character_coverage);
    put_int(to, 11, sp->input_sentence_size);
    if (kind == SP_UNIGRAM) {
        put_int(to, 14, sp->seed_sentencepiece_size);
        put_float(to, 15, sp->shrinking_factor);
        put_int(to, 17, sp->num_sub_iterations);
    }
    put_int(to, 18, sp->max_sentence_length);
    put_int(to, 19, sp->shuffle_input_sentence);
    put_int(to, 20, sp->max_sentencepiece_length);
    put_int(to, 21, sp->split_by_unicode_script);
    put_int(to, 22, sp->split_by_whitespace);
    put_int(to, 23, sp->split_by_number);
    put_int(to, 24, sp->treat_whitespace_as_suffix);
    put_int(to, 25, sp->split_digits);
    put_int(to, 26, sp->allow_whitespace_only_pieces);
    for (int64_t i = 0; i < sp->n_control_symbols; i++) put_string(to, 30, sp->control_symbols[i]);
    for (int64_t i = 0; i < sp->n_user_defined_symbols; i++)
        put_string(to, 31, sp->user_defined_symbols[i]);
    put_int(to, 33, sp->hard_vocab_limit);
    put_int(to, 35, sp->byte_fallback);
    put_string(to, 36, sp->required_chars);
    const int64_t id[] = { sp->unk_id, sp->bos_id, sp->eos_id, sp->pad_id };
    for (uint32_t i = 0; i < 4; i++) put_int(to, 40 + i, id[i] < 0 ? -1 : id[i]);
    put_string(to, 44, sp->unk_surface);
    const char *piece[] = { sp->unk_piece, sp->bos_piece, sp->eos_piece, sp->pad_piece };
    for (uint32_t i = 0; i < 4; i++) put_string(to, 45 + i, piece[i]);
}

static void put_normalizer(Text *to, const TrainSettings *s)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    const SpPrepared *p = s->prepared;
    put_string(to, 1, sp->normalization_rule_name);
    put_bytes(to, 2, p->charsmap);
    put_int(to, 3, sp->add_dummy_prefix);
    put_int(to, 4, sp->remove_extra_whitespaces);
    put_int(to, 5, true); /* blanks are escaped */
}

Error *sp_write_model(const TrainSettings *s, const SpPieces *pieces, Text *file, int64_t *n_ids)
{
    const SpPrepared *p = s->prepared;
    Text room = { 0 };
    int64_t next = 0, next_meta = 0;
    for (*n_ids = 0; next < pieces->n || next_meta < p->n_meta; ++*n_ids) {
        const SpMeta *meta = next_meta < p->n_meta ? &p->meta[next_meta] : NULL;
        if (meta && meta->id == *n_ids) {
            put_piece(file, &room, meta->name, 0, meta->type);
            next_meta++;
        } else if (next < pieces->n) {
            put_piece(file, &room, pieces->item[next].name, pieces->item[next].score, SP_NORMAL);
            next++;
        } else {
            CHECK(meta != NULL);
            text_free(&room);
            return error_new("the texts give %lld pieces, which leaves ids below that of \"%.*s\" "
                             "(%lld) without one",
                             (long long)pieces->n, (int)meta->name.len, meta->name.ptr,
                             (long long)meta->id);
        }
    }
    put_trainer(&room, s, p->kind, *n_ids);
    put_message(file, 2, &room);
    put_normalizer(&room, s);
    put_message(file, 3, &room);
    text_free(&room);
    return NULL;
}
