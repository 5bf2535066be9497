/* sentencepiece_train.c - the trainers `sentencepiece_unigram` and `sentencepiece_bpe`: a .model
 * file as SentencePiece's trainer makes it. */
#include "tokenizer/sentencepiece_train.h"
#include "base/utf8.h"
#include "tokenizer/charsmap_build.h"
#include "tokenizer/sentencepiece_rules.h"
#include "tokenizer/vocab.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SpTrainSettings sp_train_defaults(void)
{
    return (SpTrainSettings){
        .normalization_rule_name = "nmt_nfkc",
        .add_dummy_prefix = true,
        .remove_extra_whitespaces = true,
        .character_coverage = 0.9995,
        .required_chars = "",
        .unk_id = 0,
        .bos_id = 1,
        .eos_id = 2,
        .pad_id = -1,
        .unk_piece = "<unk>",
        .bos_piece = "<s>",
        .eos_piece = "</s>",
        .pad_piece = "<pad>",
        .unk_surface = " \xE2\x81\x87 ",
        .split_by_whitespace = true,
        .split_by_unicode_script = true,
        .split_by_number = true,
        .max_sentencepiece_length = 16,
        .max_sentence_length = 4192,
        .shuffle_input_sentence = true,
        .hard_vocab_limit = true,
        .seed_sentencepiece_size = 1000000,
        .num_sub_iterations = 2,
        .shrinking_factor = 0.75,
    };
}

/* ---- checks ---- */

static Error *check_range(const char *name, double x, double least, double most)
{
    if (x >= least && x <= most) return NULL;
    return error_new("%s %g is not from %g to %g", name, x, least, most);
}

static Error *check_text(const char *name, const char *text, bool may_be_empty)
{
    Str s = str_of(text);
    if (!s.len && !may_be_empty) return error_new("%s is empty", name);
    if (utf8_valid_length(s) < s.len) return error_new("%s is no UTF-8", name);
    return NULL;
}

static Error *check_names(const SpTrainSettings *s)
{
    TRY(check_text("unk_piece", s->unk_piece, false));
    TRY(check_text("bos_piece", s->bos_piece, false));
    TRY(check_text("eos_piece", s->eos_piece, false));
    TRY(check_text("pad_piece", s->pad_piece, false));
    TRY(check_text("unk_surface", s->unk_surface, true));
    TRY(check_text("required_chars", s->required_chars, true));
    for (int64_t i = 0; i < s->n_control_symbols; i++)
        TRY(check_text("one of control_symbols", s->control_symbols[i], false));
    for (int64_t i = 0; i < s->n_user_defined_symbols; i++)
        TRY(check_text("one of user_defined_symbols", s->user_defined_symbols[i], false));
    if (strchr(s->required_chars, ' ') || strchr(s->required_chars, '\t'))
        return error_new("required_chars has a blank or a tab, which no piece can be");
    if (strstr(s->required_chars, "\xE2\x96\x85"))
        return error_new("required_chars has U+2585, which stands for unknown characters");
    return NULL;
}

/* A line that is read twice, so not from standard input. */
static Error *check_sampling(const TrainSettings *s)
{
    int64_t n = s->sentencepiece.input_sentence_size;
    if (!n) return NULL;
    if (n <= 100)
        return error_new("input_sentence_size %lld is neither 0 nor above 100", (long long)n);
    for (int64_t i = 0; i < s->corpus.n_paths; i++) {
        if (!strcmp(s->corpus.path[i], "-")) {
            return error_new(
                "input_sentence_size needs to read the texts twice, and standard input "
                "can be read once: give a file");
        }
    }
    return NULL;
}

static Error *check(const TrainSettings *s)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    TRY(check_range("character_coverage", sp->character_coverage, 0.98, 1));
    TRY(check_range("max_sentencepiece_length", (double)sp->max_sentencepiece_length, 1, 512));
    TRY(check_range("max_sentence_length", (double)sp->max_sentence_length, 10, 1073741824));
    TRY(check_range("num_sub_iterations", (double)sp->num_sub_iterations, 1, 10));
    TRY(check_range("shrinking_factor", sp->shrinking_factor, 0.5, 0.95));
    TRY(check_range("seed_sentencepiece_size", (double)sp->seed_sentencepiece_size, 1, 1e9));
    if (s->corpus.format == CORPUS_WHOLE)
        return error_new("format file: SentencePiece learns from lines, and whole files have none");
    TRY(check_names(sp));
    TRY(check_sampling(s));
    Arena *a = arena_new();
    SpMeta *meta;
    int64_t n;
    Error *e = sp_meta_pieces(a, s, &meta, &n);
    arena_free(a);
    return e;
}

/* ---- meta pieces ---- */

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

/* ---- choosing lines ---- */

/* The least numbers of sp_sentence_order, at most twice as many as are wanted. */
typedef struct Choice {
    const TrainSettings *settings;
    const SpPrepared *prepared;
    Buffer *found; /* by thread: uint64_t of this stretch */
    int64_t *n_found;
    Buffer all;
    int64_t n_all, wanted;
    uint64_t most; /* greater ones are not among them */
} Choice;

typedef struct Line {
    Choice *choice;
    int thread;
} Line;

static void look_at_line(void *arg, Str line, int64_t place)
{
    const Line *l = arg;
    Choice *c = l->choice;
    const SpTrainSettings *s = &c->settings->sentencepiece;
    uint64_t order = sp_sentence_order(s, place);
    if (order > c->most || !sp_sentence_is_good(s, c->prepared, line)) return;
    uint64_t *found =
        buffer_grow(&c->found[l->thread], (size_t)(c->n_found[l->thread] + 1) * sizeof *found);
    found[c->n_found[l->thread]++] = order;
}

static Error *look_at_text(void *arg, int thread, Str text, int64_t place, bool is_start)
{
    (void)is_start;
    sp_sentences(text, place, look_at_line, &(Line){ arg, thread });
    return NULL;
}

static int by_order(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static void keep_least(Choice *c)
{
    if (c->n_all <= c->wanted) return;
    uint64_t *all = c->all.ptr;
    qsort(all, (size_t)c->n_all, sizeof *all, by_order);
    c->n_all = c->wanted;
    c->most = all[c->wanted - 1];
}

static void join_found(Choice *c, int n_threads)
{
    for (int t = 0; t < n_threads; t++) {
        uint64_t *all = buffer_grow(&c->all, (size_t)(c->n_all + c->n_found[t]) * sizeof *all);
        if (c->n_found[t])
            memcpy(all + c->n_all, c->found[t].ptr, (size_t)c->n_found[t] * sizeof *all);
        c->n_all += c->n_found[t];
        c->n_found[t] = 0;
        if (c->n_all > 2 * c->wanted) keep_least(c);
    }
}

/* Bad lines are told of when words are counted. */
static Error *ignore_bad(void *arg, BadText bad)
{
    (void)arg;
    error_free(bad.reason);
    return NULL;
}

static Error *choose_all(Choice *c, Corpus *corpus, int n_threads)
{
    for (bool some = true; some;) {
        TRY(corpus_next(corpus, look_at_text, c, &some));
        join_found(c, n_threads);
        CorpusDone done = corpus_done(corpus);
        TRY(train_step(c->settings, "choosing lines", done.stored_bytes, done.stored_total));
    }
    keep_least(c);
    return NULL;
}

/* Sets the sentence_key below which the wanted number of lines lies. */
static Error *choose_lines(const TrainSettings *s, SpPrepared *p)
{
    p->sentence_key = UINT64_MAX;
    if (!s->sentencepiece.input_sentence_size) return NULL;
    Arena *a = arena_new();
    Pool *pool = pool_new(s->n_threads);
    Choice c = { .settings = s, .prepared = p, .most = UINT64_MAX };
    c.wanted = s->sentencepiece.input_sentence_size;
    c.found = NEW_N(a, Buffer, pool_size(pool));
    c.n_found = NEW_N(a, int64_t, pool_size(pool));
    CorpusSettings settings = s->corpus;
    settings.bad_text = ignore_bad;
    Corpus *corpus;
    Error *e = corpus_open(&settings, pool, &corpus);
    if (!e) {
        e = choose_all(&c, corpus, pool_size(pool));
        corpus_close(corpus);
    }
    p->sentence_key = c.most;
    atomic_store(p->n_too_long, 0); /* they are met again */
    atomic_store(p->n_reserved, 0);
    for (int t = 0; t < pool_size(pool); t++) buffer_free(&c.found[t]);
    buffer_free(&c.all);
    pool_free(pool);
    arena_free(a);
    return e;
}

/* ---- the kinds ---- */

static void find_names(Arena *a, SpPrepared *p)
{
    Str *name = NEW_N(a, Str, p->n_meta + 1);
    uint32_t *id = NEW_N(a, uint32_t, p->n_meta + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_meta; i++) {
        name[n] = sp_matching_name(a, &p->file, p->meta[i].name);
        if (!name[n].ptr) continue;
        p->starts[(uint8_t)name[n].ptr[0]] = true;
        id[n++] = (uint32_t)p->meta[i].id;
    }
    p->found = trie_new(a, name, id, n);
}

static Error *prepare(Arena *a, const TrainSettings *s, SpKind kind, const void **out)
{
    const SpTrainSettings *sp = &s->sentencepiece;
    SpPrepared *p = NEW(a, SpPrepared);
    p->kind = kind;
    p->n_too_long = NEW(a, _Atomic int64_t);
    p->n_reserved = NEW(a, _Atomic int64_t);
    p->file.rules = (SpRules){ .add_dummy_prefix = sp->add_dummy_prefix,
                               .remove_extra_whitespaces = sp->remove_extra_whitespaces,
                               .escape_whitespaces = true };
    TRY(sp_meta_pieces(a, s, &p->meta, &p->n_meta));
    find_names(a, p);
    Arena *work = arena_new();
    CharRules rules;
    Error *e = charsmap_rules(work, sp->normalization_rule_name, &rules);
    if (!e) p->charsmap = charsmap_build(a, &rules);
    arena_free(work);
    if (!e && p->charsmap.len) e = charsmap_read(a, p->charsmap, &p->file.rules.charsmap);
    if (!e) e = choose_lines(s, p);
    *out = p;
    return e;
}

static Error *prepare_unigram(Arena *a, const TrainSettings *s, const void **out)
{
    return prepare(a, s, SP_UNIGRAM, out);
}

static Error *prepare_bpe(Arena *a, const TrainSettings *s, const void **out)
{
    return prepare(a, s, SP_BPE, out);
}

/* A character that is a meta piece's whole name cannot be a piece, too. */
static Error *check_chars(const SpPrepared *p, const SpUnits *u)
{
    for (int64_t i = 0; i < u->n_chars; i++) {
        char name[4];
        Str ch = { name, (size_t)utf8_encode(u->ch[i].code, name) };
        for (int64_t k = 0; k < p->n_meta; k++) {
            if (str_equal(ch, p->meta[k].name))
                return error_new("\"%.*s\" is a symbol and one of required_chars", (int)ch.len,
                                 ch.ptr);
        }
    }
    return NULL;
}

static Error *learn_pieces(Arena *a, const TrainSettings *s, const WordCounts *words,
                           SpPieces *pieces)
{
    const SpPrepared *p = s->prepared;
    SpUnits units;
    TRY(sp_units_make(a, s, words, p->kind == SP_UNIGRAM, &units));
    TRY(check_chars(p, &units));
    int64_t wanted = s->vocab_size - p->n_meta, least = units.n_chars + p->n_meta;
    if (least > s->vocab_size) {
        return error_new(
            "vocab_size %lld is less than the %lld pieces for characters and symbols: raise it, or "
            "lower character_coverage",
            (long long)s->vocab_size, (long long)least);
    }
    if (p->kind == SP_BPE) return sp_learn_bpe(a, s, &units, wanted, pieces);
    if (!units.n_units) return error_new("the texts hold no character to learn from");
    return sp_learn_unigram(a, s, &units, wanted, pieces);
}

static Error *learn(const TrainSettings *s, const WordCounts *words, Text *file,
                    TrainSummary *summary)
{
    const SpPrepared *p = s->prepared;
    summary->n_too_long = atomic_load(p->n_too_long);
    summary->n_reserved = atomic_load(p->n_reserved);
    Arena *a = arena_new();
    SpPieces pieces = { 0 };
    Error *e = learn_pieces(a, s, words, &pieces);
    int64_t n = pieces.n + p->n_meta;
    if (!e && s->sentencepiece.hard_vocab_limit && n < s->vocab_size) {
        e = error_new("vocab_size %lld is too high: the texts give %lld pieces; lower it, or set "
                      "hard_vocab_limit to false",
                      (long long)s->vocab_size, (long long)n);
    }
    if (!e) e = sp_write_model(s, &pieces, file, &summary->n_ids);
    arena_free(a);
    return e;
}

/* The first three are of unigram alone. */
static const char *const options[] = {
    "seed_sentencepiece_size",
    "num_sub_iterations",
    "shrinking_factor",
    "normalization_rule_name",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "character_coverage",
    "required_chars",
    "byte_fallback",
    "control_symbols",
    "user_defined_symbols",
    "unk_id",
    "bos_id",
    "eos_id",
    "pad_id",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "pad_piece",
    "unk_surface",
    "split_by_whitespace",
    "split_by_unicode_script",
    "split_by_number",
    "split_digits",
    "treat_whitespace_as_suffix",
    "allow_whitespace_only_pieces",
    "max_sentencepiece_length",
    "max_sentence_length",
    "input_sentence_size",
    "shuffle_input_sentence",
    "hard_vocab_limit",
    NULL,
};
enum { N_UNIGRAM_OPTIONS = 3 };

const TrainerKind trainer_sentencepiece_unigram = {
    .name = "sentencepiece_unigram",
    .doc = "a SentencePiece .model of kind unigram",
    .options = options,
    .check = check,
    .prepare = prepare_unigram,
    .cutter_new = sp_cutter_new,
    .learn = learn,
};

const TrainerKind trainer_sentencepiece_bpe = {
    .name = "sentencepiece_bpe",
    .doc = "a SentencePiece .model of kind bpe, with the pieces that SentencePiece's trainer finds",
    .options = options + N_UNIGRAM_OPTIONS,
    .check = check,
    .prepare = prepare_bpe,
    .cutter_new = sp_cutter_new,
    .learn = learn,
};
