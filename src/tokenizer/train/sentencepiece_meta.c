/* sentencepiece_meta.c - the pieces that are not learnt: unknown, control and user-defined symbols,
 * bytes; each with an id of its own. */
#include "tokenizer/train/sentencepiece.h"
#include <stdio.h>
#include <string.h>

typedef struct MetaList {
    Arena *arena;
    const TrainSettings *settings;
    SpMeta *item; /* by rising id */
    int64_t n, cap;
} MetaList;

static int64_t find_id(const MetaList *m, int64_t id)
{
    int64_t i = 0;
    while (i < m->n && m->item[i].id < id) i++;
    return i;
}

static Error *add_meta(MetaList *m, int64_t id, Str name, SpType type)
{
    if (id >= m->settings->vocab_size)
        return error_new("the id %lld of \"%.*s\" is not below vocab_size %lld", (long long)id,
                         (int)name.len, name.ptr, (long long)m->settings->vocab_size);
    m->item = arena_grow(m->arena, m->item, m->n, &m->cap, sizeof *m->item);
    int64_t at = find_id(m, id);
    if (at < m->n && m->item[at].id == id) {
        return error_new("\"%.*s\" and \"%.*s\" have the same id %lld", (int)m->item[at].name.len,
                         m->item[at].name.ptr, (int)name.len, name.ptr, (long long)id);
    }
    for (int64_t i = 0; i < m->n; i++) {
        if (str_equal(m->item[i].name, name))
            return error_new("\"%.*s\" is two pieces at once", (int)name.len, name.ptr);
    }
    memmove(m->item + at + 1, m->item + at, (size_t)(m->n - at) * sizeof *m->item);
    m->item[at] = (SpMeta){ id, name, type };
    m->n++;
    return NULL;
}

static Error *add_special(MetaList *m)
{
    const SpTrainSettings *s = &m->settings->sentencepiece;
    const struct {
        int64_t id;
        const char *name;
    } special[] = { { s->unk_id, s->unk_piece },
                    { s->bos_id, s->bos_piece },
                    { s->eos_id, s->eos_piece },
                    { s->pad_id, s->pad_piece } };
    if (s->unk_id < 0) return error_new("unk_id %lld: a model needs one", (long long)s->unk_id);
    for (int i = 0; i < 4; i++) {
        SpType type = i ? SP_CONTROL : SP_UNKNOWN;
        if (special[i].id >= 0) TRY(add_meta(m, special[i].id, str_of(special[i].name), type));
    }
    return NULL;
}

/* A symbol gets the least free id, from `*free_id` on. The beginning, end and padding pieces may be
 * listed, too, and then change their type. */
static Error *add_symbol(MetaList *m, const char *name, SpType type, int64_t *free_id)
{
    Str s = { arena_string(m->arena, name), strlen(name) };
    for (int64_t i = 0; i < m->n; i++) {
        if (!str_equal(m->item[i].name, s) || m->item[i].type != SP_CONTROL) continue;
        const SpTrainSettings *sp = &m->settings->sentencepiece;
        bool is_special = m->item[i].id == sp->bos_id || m->item[i].id == sp->eos_id ||
                          m->item[i].id == sp->pad_id;
        if (!is_special) continue;
        m->item[i].type = type;
        return NULL;
    }
    CHECK(m->item != NULL); /* the unknown piece is there */
    int64_t at = find_id(m, *free_id);
    for (; at < m->n && m->item[at].id == *free_id; at++) ++*free_id;
    return add_meta(m, *free_id, s, type);
}

Error *sp_meta_pieces(Arena *a, const TrainSettings *s, SpMeta **out, int64_t *n)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    MetaList m = { .arena = a, .settings = s };
    int64_t free_id = 0;
    TRY(add_special(&m));
    for (int64_t i = 0; i < sp->n_control_symbols; i++)
        TRY(add_symbol(&m, sp->control_symbols[i], SP_CONTROL, &free_id));
    for (int64_t i = 0; i < sp->n_user_defined_symbols; i++)
        TRY(add_symbol(&m, sp->user_defined_symbols[i], SP_USER_DEFINED, &free_id));
    for (int byte = 0; byte < 256 && sp->byte_fallback; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        TRY(add_symbol(&m, name, SP_BYTE, &free_id));
    }
    *out = m.item;
    *n = m.n;
    return NULL;
}
