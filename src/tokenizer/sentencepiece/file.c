/* file.c - reads the messages of a .model file and checks what SentencePiece checks.
 *
 * ModelProto: pieces = 1, trainer_spec = 2, normalizer_spec = 3, self_test_data = 4,
 * denormalizer_spec = 5. Fields that are not named below do not matter to encoding. */
#include "tokenizer/sentencepiece/file.h"
#include "base/utf8.h"
#include "tokenizer/format/protobuf.h"
#include <math.h>
#include <string.h>

typedef struct Reading {
    Arena *arena;
    SpFile *file;
    int64_t cap_name, cap_score, cap_type;
    const char *start;     /* of the file, for offsets */
    Str charsmap, reverse; /* precompiled_charsmap of the normalizer and the denormalizer */
} Reading;

static ProtoReader reader(const Reading *r, Str message)
{
    return (ProtoReader){ r->start, message };
}

static Str keep(const Reading *r, Str s)
{
    return (Str){ arena_string_n(r->arena, s.ptr, s.len), s.len };
}

/* piece = 1, score = 2, type = 3 */
static Error *read_piece(Reading *r, Str message)
{
    SpFile *f = r->file;
    ProtoReader in = reader(r, message);
    ProtoField at;
    Str name = { "", 0 };
    float score = 0;
    uint64_t type = SP_NORMAL;
    for (;;) {
        TRY(proto_next(&in, &at));
        if (!at.number) break;
        if (at.number == 1) {
            TRY(proto_expect(&in, &at, WIRE_BYTES));
            name = at.bytes;
        } else if (at.number == 2) {
            TRY(proto_expect(&in, &at, WIRE_FIXED32));
            score = proto_float(&at);
        } else if (at.number == 3) {
            TRY(proto_expect(&in, &at, WIRE_VARINT));
            type = at.value;
        }
    }
    if (f->n >= MAX_TOKEN_ID) return error_new("more than %d pieces", MAX_TOKEN_ID);
    if (type < SP_NORMAL || type > SP_BYTE)
        return error_new("piece %lld has the unknown type %llu (1 to 6)", (long long)f->n,
                         (unsigned long long)type);
    f->name = arena_grow(r->arena, f->name, f->n, &r->cap_name, sizeof *f->name);
    f->score = arena_grow(r->arena, f->score, f->n, &r->cap_score, sizeof *f->score);
    f->type = arena_grow(r->arena, f->type, f->n, &r->cap_type, sizeof *f->type);
    f->name[f->n] = keep(r, name);
    f->score[f->n] = score;
    f->type[f->n++] = (uint8_t)type;
    return NULL;
}

/* An empty name means the default one. */
static void name_special(const Reading *r, Str name, Str *out)
{
    if (name.len) *out = keep(r, name);
}

static Error *read_trainer(Reading *r, Str message)
{
    SpFile *f = r->file;
    ProtoReader in = reader(r, message);
    ProtoField at;
    for (;;) {
        TRY(proto_next(&in, &at));
        switch (at.number) {
        case 0:
            return NULL;
        case 3:
            f->kind = (SpKind)at.value;
            break;
        case 24:
            f->whitespace_as_suffix = at.value != 0;
            break;
        case 35:
            f->byte_fallback = at.value != 0;
            break;
        case 44:
            f->unk_surface = keep(r, at.bytes);
            break;
        case 46:
            name_special(r, at.bytes, &f->bos_piece);
            break;
        case 47:
            name_special(r, at.bytes, &f->eos_piece);
            break;
        case 48:
            name_special(r, at.bytes, &f->pad_piece);
            break;
        default:
            continue;
        }
        TRY(proto_expect(&in, &at, at.number < 44 ? WIRE_VARINT : WIRE_BYTES));
    }
}

static Error *read_rules(Reading *r, Str message, SpRules *out, Str *charsmap)
{
    ProtoReader in = reader(r, message);
    ProtoField at;
    for (;;) {
        TRY(proto_next(&in, &at));
        switch (at.number) {
        case 0:
            return NULL;
        case 2:
            *charsmap = at.bytes;
            break;
        case 3:
            out->add_dummy_prefix = at.value != 0;
            break;
        case 4:
            out->remove_extra_whitespaces = at.value != 0;
            break;
        case 5:
            out->escape_whitespaces = at.value != 0;
            break;
        default:
            continue;
        }
        TRY(proto_expect(&in, &at, at.number == 2 ? WIRE_BYTES : WIRE_VARINT));
    }
}

static Error *read_model(Reading *r, Str bytes)
{
    ProtoReader in = reader(r, bytes);
    ProtoField at;
    for (;;) {
        TRY(proto_next(&in, &at));
        if (!at.number) return NULL;
        if (at.number > 5 || at.number == 4) continue;
        TRY(proto_expect(&in, &at, WIRE_BYTES));
        if (at.number == 1) TRY(error_wrap(read_piece(r, at.bytes), "pieces"));
        if (at.number == 2) TRY(error_wrap(read_trainer(r, at.bytes), "trainer_spec"));
        if (at.number == 3)
            TRY(error_wrap(read_rules(r, at.bytes, &r->file->rules, &r->charsmap),
                           "normalizer_spec"));
        if (at.number == 5)
            TRY(error_wrap(read_rules(r, at.bytes, &r->file->denormalizer, &r->reverse),
                           "denormalizer_spec"));
    }
}

static bool is_usable(uint8_t type)
{
    return type == SP_NORMAL || type == SP_USER_DEFINED || type == SP_UNUSED;
}

/* A piece's name at its id, others empty, so that the ids of both tables are those of the file. */
static Error *make_tables(Arena *a, SpFile *f)
{
    Arena *scratch = arena_new();
    Vocab *to[] = { &f->reserved, &f->usable };
    for (int k = 0; k < 2; k++) {
        Str *name = NEW_N(scratch, Str, f->n + 1);
        for (int64_t i = 0; i < f->n; i++) name[i] = (Str){ "", 0 };
        for (int64_t i = 0; i < f->n; i++) {
            if (is_usable(f->type[i]) == k) name[i] = f->name[i];
        }
        vocab_of_names(a, name, f->n, to[k]);
    }
    arena_free(scratch);
    for (int64_t i = 0; i < f->n; i++) {
        uint32_t id = vocab_find(to[is_usable(f->type[i])], f->name[i]);
        if (id != i)
            return error_new("pieces %lld and %u have the same name \"%.*s\"", (long long)i, id,
                             (int)f->name[i].len, f->name[i].ptr);
    }
    return NULL;
}

static Error *check_pieces(SpFile *f)
{
    f->unk_id = NO_TOKEN;
    for (int64_t i = 0; i < f->n; i++) {
        Str name = f->name[i];
        if (!name.len || utf8_valid_length(name) < name.len || memchr(name.ptr, 0, name.len))
            return error_new("piece %lld has an empty name, one with a zero byte, or no UTF-8",
                             (long long)i);
        if (isnan(f->score[i])) return error_new("piece %lld has no score", (long long)i);
        if (f->type[i] == SP_BYTE && !f->byte_fallback)
            return error_new("piece %lld is a byte, but byte_fallback is not set", (long long)i);
        if (f->type[i] != SP_UNKNOWN) continue;
        if (f->unk_id != NO_TOKEN)
            return error_new("pieces %u and %lld are both the unknown one", f->unk_id,
                             (long long)i);
        f->unk_id = (uint32_t)i;
    }
    if (f->unk_id == NO_TOKEN) return error_new("no piece is the unknown one");
    return NULL;
}

static Error *check_bytes(SpFile *f)
{
    if (!f->byte_fallback) return NULL;
    vocab_find_bytes(&f->reserved, f->byte_id);
    for (int byte = 0; byte < 256; byte++) {
        uint32_t id = f->byte_id[byte];
        if (id == NO_TOKEN || f->type[id] != SP_BYTE)
            return error_new("byte_fallback is set, but there is no piece <0x%02X>", byte);
    }
    return NULL;
}

static Error *read_charsmap(Arena *a, Str bytes, const Charsmap **out)
{
    return bytes.len ? error_wrap(charsmap_read(a, bytes, out), "precompiled_charsmap") : NULL;
}

Error *sp_file_read(Arena *a, Str bytes, SpFile *f)
{
    static const SpRules defaults = { NULL, true, true, true };
    *f = (SpFile){
        .kind = SP_UNIGRAM,
        .unk_surface = str_of(" \xE2\x81\x87 "),
        .bos_piece = str_of("<s>"),
        .eos_piece = str_of("</s>"),
        .pad_piece = str_of("<pad>"),
        .rules = defaults,
        .denormalizer = defaults,
    };
    Reading r = { .arena = a, .file = f, .start = bytes.ptr };
    TRY(read_model(&r, bytes));
    if (!f->n) return error_new("no SentencePiece model: it has no pieces");
    if (f->kind < SP_UNIGRAM || f->kind > SP_CHAR)
        return error_new("trainer_spec: unknown model_type %d (1 to 4)", (int)f->kind);
    TRY(check_pieces(f));
    TRY(make_tables(a, f));
    TRY(check_bytes(f));
    f->has_denormalizer = r.reverse.len > 0;
    TRY(read_charsmap(a, r.reverse, &f->denormalizer.charsmap));
    return read_charsmap(a, r.charsmap, &f->rules.charsmap);
}

/* Models start with their pieces: field 1, and in it field 1. */
bool sp_file_looks_like(Str start)
{
    return start.len > 3 && start.ptr[0] == 0x0A && start.ptr[1] != '\n' && start.ptr[2] == 0x0A;
}

uint32_t sp_file_id(const SpFile *f, Str piece)
{
    uint32_t id = vocab_find(&f->reserved, piece);
    if (id == NO_TOKEN) id = vocab_find(&f->usable, piece);
    return id == NO_TOKEN ? f->unk_id : id;
}
