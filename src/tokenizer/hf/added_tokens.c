/* added_tokens.c - the table of added tokens, kept as the tokenizers library keeps it
 * (AddedVocabulary): an entry can be added again with other flags, and its first flags decide in
 * which text it is sought. */
#include "tokenizer/hf/added_tokens.h"
#include "base/map.h"
#include "base/utf8.h"
#include "tokenizer/hf/added_patterns.h"
#include "tokenizer/text/unicode.h"

typedef struct Entry {
    AddedToken token; /* with the latest flags */
    uint32_t id;
} Entry;

typedef struct TokenList {
    AddedToken *item;
    int64_t n, cap;
} TokenList;

struct AddedTokens {
    Arena *arena;
    const Vocab *vocab;
    Map *by_content, *special_set; /* of Entry; of anything */
    Entry **by_id;                 /* n_ids entries, most NULL; made by added_tokens_finish */
    int64_t n_ids, next_id;
    TokenList special, classic;  /* patterns, in the order in which equal ones win */
    const Patterns *patterns[2]; /* by `normalized` */
    Map *by_pattern[2];          /* of Entry */
    bool split_special;
};

AddedTokens *added_tokens_new(Arena *a, const Vocab *vocab)
{
    AddedTokens *t = NEW(a, AddedTokens);
    *t = (AddedTokens){ .arena = a, .vocab = vocab, .n_ids = vocab->n_ids, .next_id = vocab->n };
    t->by_content = map_new(a);
    t->special_set = map_new(a);
    return t;
}

static bool same(const AddedToken *a, const AddedToken *b)
{
    return a->single_word == b->single_word && a->lstrip == b->lstrip && a->rstrip == b->rstrip &&
           a->normalized == b->normalized && a->special == b->special;
}

static void append(AddedTokens *t, TokenList *to, AddedToken token)
{
    token.content.ptr = arena_string_n(t->arena, token.content.ptr, token.content.len);
    to->item = arena_grow(t->arena, to->item, to->n, &to->cap, sizeof *to->item);
    to->item[to->n++] = token;
}

static void add_one(AddedTokens *t, AddedToken token)
{
    Entry *e = map_get(t->by_content, token.content);
    if (e && same(&e->token, &token)) return;
    if (!e) {
        e = NEW(t->arena, Entry);
        e->id = vocab_find(t->vocab, token.content);
        if (e->id == NO_TOKEN) e->id = (uint32_t)t->next_id;
        if (e->id >= t->next_id) t->next_id = (int64_t)e->id + 1;
        if (e->id >= t->n_ids) t->n_ids = (int64_t)e->id + 1;
        map_set(t->by_content, token.content, e);
        token.content.ptr = arena_string_n(t->arena, token.content.ptr, token.content.len);
    } else {
        token.content = e->token.content;
    }
    e->token = token;
    if (!map_has(t->special_set, token.content)) append(t, &t->classic, token);
}

void added_tokens_add(AddedTokens *t, const AddedToken *token, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!token[i].special || !token[i].content.len || map_has(t->special_set, token[i].content))
            continue;
        map_set(t->special_set, token[i].content, t);
        append(t, &t->special, token[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        if (token[i].content.len) add_one(t, token[i]);
    }
}

static Error *load_one(JsonNode at, AddedToken *out)
{
    static const char *const known[] = { "id",     "content",    "single_word", "lstrip",
                                         "rstrip", "normalized", "special",     NULL };
    int64_t id; /* only checked: the library does not use it */
    TRY(json_node_only(at, known));
    TRY(json_get_int(at, "id", 0, UINT32_MAX, &id));
    TRY(json_get_string(at, "content", &out->content));
    TRY(json_get_bool(at, "single_word", REQUIRED, &out->single_word));
    TRY(json_get_bool(at, "lstrip", REQUIRED, &out->lstrip));
    TRY(json_get_bool(at, "rstrip", REQUIRED, &out->rstrip));
    TRY(json_get_bool(at, "normalized", REQUIRED, &out->normalized));
    return json_get_bool(at, "special", REQUIRED, &out->special);
}

Error *added_tokens_load(JsonNode at, AddedTokens *to)
{
    if (!json_is_array(at.value)) return json_node_error(at, "must be a list");
    int64_t n = (int64_t)json_array_size(at.value);
    AddedToken *token = NEW_N(to->arena, AddedToken, n);
    for (int64_t i = 0; i < n; i++) TRY(load_one(json_item(at, (size_t)i), &token[i]));
    added_tokens_add(to, token, n);
    return NULL;
}

/* What a token is sought as. Its own text is never empty; a normalizer may leave nothing of it. */
static Error *pattern_of(const AddedTokens *t, const AddedToken *token,
                         const Normalizer *normalizer, NormalizerRoom *room, Str *out)
{
    *out = token->content;
    if (!token->normalized) return NULL;
    TRY(normalizer_run(normalizer, token->content, room, out));
    out->ptr = arena_string_n(t->arena, out->ptr, out->len);
    return NULL;
}

/* Of tokens with the same pattern the first counts. */
static Error *make_patterns(AddedTokens *t, const Normalizer *normalizer, NormalizerRoom *room)
{
    const TokenList *list[] = { &t->special, &t->classic };
    Str *text = NEW_N(t->arena, Str, t->special.n + t->classic.n);
    for (int normalized = 0; normalized < 2; normalized++) {
        int64_t n = 0;
        Map *found = t->by_pattern[normalized] = map_new(t->arena);
        for (int k = 0; k < 2; k++) {
            for (int64_t i = 0; i < list[k]->n; i++) {
                const AddedToken *token = &list[k]->item[i];
                if (token->normalized != normalized) continue;
                TRY(pattern_of(t, token, normalizer, room, &text[n]));
                if (!text[n].len || map_has(found, text[n])) continue;
                map_set(found, text[n++], map_get(t->by_content, token->content));
            }
        }
        t->patterns[normalized] = patterns_new(t->arena, text, n);
    }
    return NULL;
}

Error *added_tokens_finish(AddedTokens *t, bool split_special, const Normalizer *normalizer)
{
    t->split_special = split_special;
    t->by_id = NEW_N(t->arena, Entry *, t->n_ids);
    for (int64_t i = 0; i < t->by_content->n; i++) {
        Entry *e = t->by_content->entry[i].value;
        t->by_id[e->id] = e;
    }
    NormalizerRoom room = { 0 };
    Error *e = make_patterns(t, normalizer, &room);
    normalizer_room_free(&room);
    return error_wrap(e, "added_tokens");
}

int64_t added_tokens_list(const AddedTokens *t, Arena *a, AddedToken **out)
{
    *out = NEW_N(a, AddedToken, t->by_content->n);
    for (int64_t i = 0; i < t->by_content->n; i++) {
        (*out)[i] = ((const Entry *)t->by_content->entry[i].value)->token;
    }
    return t->by_content->n;
}

bool added_tokens_has(const AddedTokens *t, Str content)
{
    return map_has(t->by_content, content);
}

int64_t added_tokens_count(const AddedTokens *t)
{
    int64_t n = t->vocab->n;
    for (int64_t i = 0; i < t->by_content->n; i++) {
        n += vocab_find(t->vocab, t->by_content->entry[i].key) == NO_TOKEN;
    }
    return n;
}

int64_t added_tokens_n_ids(const AddedTokens *t)
{
    return t->n_ids;
}

uint32_t added_tokens_id(const AddedTokens *t, Str content)
{
    const Entry *e = map_get(t->by_content, content);
    return e ? e->id : vocab_find(t->vocab, content);
}

Str added_tokens_name(const AddedTokens *t, uint32_t id)
{
    if (id >= t->n_ids) return (Str){ NULL, 0 };
    if (t->by_id[id]) return t->by_id[id]->token.content;
    return id < t->vocab->n_ids ? t->vocab->name[id] : (Str){ NULL, 0 };
}

bool added_tokens_is_special(const AddedTokens *t, Str content)
{
    return map_has(t->special_set, content);
}

/* The start of the last character before `at`, which is not 0. */
static size_t character_before(Str s, size_t at)
{
    do at--;
    while (at && (s.ptr[at] & 0xC0) == 0x80);
    return at;
}

static unsigned flags_before(Str s, size_t at)
{
    int n;
    return at ? unicode_flags(utf8_decode(s.ptr + character_before(s, at), &n)) : 0;
}

static unsigned flags_behind(Str s, size_t at)
{
    int n;
    return at < s.len ? unicode_flags(utf8_decode(s.ptr + at, &n)) : 0;
}

/* `floor`: what lies before is taken already. */
static void strip_spaces(const AddedToken *token, Str s, size_t floor, size_t *from, size_t *to)
{
    while (token->lstrip && *from > floor && flags_before(s, *from) & UNICODE_SPACE) {
        *from = character_before(s, *from);
    }
    while (token->rstrip && flags_behind(s, *to) & UNICODE_SPACE) {
        int n;
        utf8_decode(s.ptr + *to, &n);
        *to += (size_t)n;
    }
}

typedef struct Cutting {
    Buffer *room;
    int64_t n;
} Cutting;

static void add_piece(Cutting *c, const char *from, size_t len, uint32_t id)
{
    Piece *p = buffer_grow(c->room, (size_t)(c->n + 1) * sizeof *p);
    p[c->n++] = (Piece){ { from, len }, id };
}

/* The search goes on after a match even when rstrip took more; a token found in what was taken is
 * cut out of it again, as in the library. */
int64_t added_tokens_split(const AddedTokens *t, bool normalized, Str text, Buffer *room,
                           Piece **out)
{
    Cutting c = { .room = room };
    size_t done = 0; /* cut up to here */
    PatternMatch m = { 0 };
    while (patterns_find(t->patterns[normalized], text, m.to, &m)) {
        const Entry *e = map_get(t->by_pattern[normalized], m.text);
        if (t->split_special && map_has(t->special_set, e->token.content)) continue;
        if (e->token.single_word &&
            (flags_before(text, m.from) | flags_behind(text, m.to)) & UNICODE_WORD)
            continue;
        size_t from = m.from, to = m.to;
        strip_spaces(&e->token, text, done, &from, &to);
        if (done < from) add_piece(&c, text.ptr + done, from - done, NO_TOKEN);
        add_piece(&c, text.ptr + from, to - from, e->id);
        done = to;
    }
    if (done != text.len) add_piece(&c, text.ptr + done, text.len - done, NO_TOKEN);
    *out = room->ptr;
    return c.n;
}
