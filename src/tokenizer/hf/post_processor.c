/* post_processor.c - the table of post-processors, which rewrite layouts. */
#include "tokenizer/hf/post_processor.h"
#include "base/map.h"
#include <string.h>

enum { MAX_PARTS = 1000 };

/* A layout while it is built. Parts with the same group were one encoding of the library. */
typedef struct Draft {
    LayoutPart part[MAX_PARTS];
    int group[MAX_PARTS];
    int n, n_groups;
    int64_t n_added;
    OffsetTrim *trim;
    int64_t n_trims, trim_cap;
} Draft;

/* Passed to the rows of the table. */
typedef struct PostLoading {
    Arena *arena;
    int64_t n_ids;
    Draft *draft; /* of the layout that is being built */
    bool is_pair, adds_special;
} PostLoading;

static Error *put(Draft *d, JsonNode at, LayoutPart part, int group)
{
    if (d->n == MAX_PARTS) return json_node_error(at, "makes more than %d parts", MAX_PARTS);
    d->part[d->n] = part;
    d->group[d->n++] = group;
    return NULL;
}

static void add_trim(PostLoading *l, bool keeps_first_blank)
{
    Draft *d = l->draft;
    d->trim = arena_grow(l->arena, d->trim, d->n_trims, &d->trim_cap, sizeof *d->trim);
    d->trim[d->n_trims++] = (OffsetTrim){ keeps_first_blank, d->n && d->part[0].sequence < 0 };
}

/* It trims offsets; ids stay as they are. */
static Error *load_byte_level(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
                                         NULL };
    bool setting[3];
    TRY(json_node_only(at, known));
    for (int i = 0; i < 3; i++) TRY(json_get_bool(at, known[i + 1], DEFAULT_TRUE, &setting[i]));
    if (setting[1]) add_trim(loading, setting[0]);
    return NULL;
}

/* ["name", id] */
static Error *load_token(JsonNode of, const char *key, int64_t n_ids, uint32_t *out)
{
    JsonNode at = json_member(of, key);
    const json_t *id = json_array_get(at.value, 1);
    if (json_array_size(at.value) != 2 || !json_is_string(json_array_get(at.value, 0)) ||
        !json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= n_ids)
        return json_node_error(at, "must be [token, its id below %lld]", (long long)n_ids);
    *out = (uint32_t)json_integer_value(id);
    return NULL;
}

/* Puts tokens around every group: `cls` or, for further groups, `between` in front (NO_ID: none),
 * `sep` after. */
enum { NO_ID = -1 };
static Error *surround(PostLoading *l, JsonNode at, int64_t cls, int64_t between, uint32_t sep,
                       uint32_t second_type)
{
    Draft old = *l->draft, *d = l->draft;
    d->n = 0;
    for (int g = 0; g < old.n_groups; g++) {
        uint32_t type = g ? second_type : 0;
        int64_t front = g ? between : cls;
        if (front != NO_ID) TRY(put(d, at, (LayoutPart){ -1, (uint32_t)front, type, true }, g));
        for (int i = 0; i < old.n; i++) {
            old.part[i].special = false; /* so the library marks what lies inside */
            if (old.group[i] == g) TRY(put(d, at, old.part[i], g));
        }
        TRY(put(d, at, (LayoutPart){ -1, sep, type, true }, g));
    }
    return NULL;
}

static Error *load_bert(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "sep", "cls", NULL };
    PostLoading *l = loading;
    uint32_t sep = 0, cls = 0;
    TRY(json_node_only(at, known));
    TRY(load_token(at, "sep", l->n_ids, &sep));
    TRY(load_token(at, "cls", l->n_ids, &cls));
    l->draft->n_added += l->is_pair ? 3 : 2;
    return l->adds_special ? surround(l, at, cls, NO_ID, sep, 1) : NULL;
}

static Error *load_roberta(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "sep", "cls", "trim_offsets", "add_prefix_space",
                                         NULL };
    PostLoading *l = loading;
    uint32_t sep = 0, cls = 0;
    bool trims, keeps_first_blank;
    TRY(json_node_only(at, known));
    TRY(load_token(at, "sep", l->n_ids, &sep));
    TRY(load_token(at, "cls", l->n_ids, &cls));
    TRY(json_get_bool(at, "trim_offsets", REQUIRED, &trims));
    TRY(json_get_bool(at, "add_prefix_space", REQUIRED, &keeps_first_blank));
    if (trims) add_trim(l, keeps_first_blank);
    l->draft->n_added += l->is_pair ? 4 : 2;
    for (int i = 0; i < l->draft->n; i++) l->draft->part[i].type_id = 0;
    return l->adds_special ? surround(l, at, cls, sep, sep, 0) : NULL;
}

/* The ids of a special token of the template, by its name. */
static Error *put_special(PostLoading *l, JsonNode piece, JsonNode tokens, uint32_t type_id)
{
    Str id;
    TRY(json_get_string(piece, "id", &id));
    JsonNode token = json_member(tokens, arena_string_n(l->arena, id.ptr, id.len));
    JsonNode ids = json_member(token, "ids");
    if (!json_is_array(ids.value))
        return json_node_error(json_member(piece, "id"), "has no ids in special_tokens");
    for (size_t i = 0; i < json_array_size(ids.value); i++) {
        const json_t *value = json_array_get(ids.value, i);
        json_int_t number = json_integer_value(value);
        if (!json_is_integer(value) || number < 0 || number >= l->n_ids) {
            return json_node_error(json_item(ids, i), "must be an id below %lld",
                                   (long long)l->n_ids);
        }
        l->draft->n_added++;
        if (l->adds_special)
            TRY(put(l->draft, ids, (LayoutPart){ -1, (uint32_t)number, type_id, true },
                    l->draft->n_groups));
    }
    return NULL;
}

/* All parts of a group of the old layout, with another type. */
static Error *put_sequence(PostLoading *l, JsonNode piece, const Draft *old, uint32_t type_id)
{
    Str id;
    TRY(json_get_string(piece, "id", &id));
    int group = str_is(id, "A") ? 0 : str_is(id, "B") ? 1 : -1;
    if (group < 0 || group >= old->n_groups) {
        return json_node_error(json_member(piece, "id"), old->n_groups == 1
                                                             ? "must be \"A\" in a single template"
                                                             : "must be \"A\" or \"B\"");
    }
    for (int i = 0; i < old->n; i++) {
        if (old->group[i] != group) continue;
        LayoutPart part = old->part[i];
        part.type_id = type_id;
        TRY(put(l->draft, piece, part, l->draft->n_groups));
    }
    return NULL;
}

static Error *load_piece(PostLoading *l, JsonNode at, JsonNode tokens, const Draft *old)
{
    static const char *const kinds[] = { "SpecialToken", "Sequence", NULL };
    static const char *const known[] = { "id", "type_id", NULL };
    TRY(json_node_only(at, kinds));
    bool is_special = json_member(at, kinds[0]).value != NULL;
    JsonNode piece = json_member(at, kinds[!is_special]);
    int64_t type_id;
    TRY(json_node_only(piece, known));
    TRY(json_get_int(piece, "type_id", 0, UINT32_MAX, &type_id));
    TRY(is_special ? put_special(l, piece, tokens, (uint32_t)type_id)
                   : put_sequence(l, piece, old, (uint32_t)type_id));
    l->draft->n_groups++;
    return NULL;
}

static Error *load_template(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "single", "pair", "special_tokens", NULL };
    PostLoading *l = loading;
    TRY(json_node_only(at, known));
    JsonNode list = json_member(at, l->is_pair ? "pair" : "single");
    if (!json_is_array(list.value)) return json_node_error(list, "must be a list");
    if (l->draft->n_groups != 1 + l->is_pair)
        return json_node_error(at, "cannot follow another TemplateProcessing");
    Draft old = *l->draft;
    l->draft->n = l->draft->n_groups = 0;
    for (size_t i = 0; i < json_array_size(list.value); i++)
        TRY(load_piece(l, json_item(list, i), json_member(at, "special_tokens"), &old));
    return NULL;
}

static Error *load_sequence(JsonNode at, void *loading);

static const JsonStage post_processors[] = {
    { "BertProcessing", load_bert },         { "ByteLevel", load_byte_level },
    { "RobertaProcessing", load_roberta },   { "Sequence", load_sequence },
    { "TemplateProcessing", load_template }, { 0 },
};

static Error *load_sequence(JsonNode at, void *loading)
{
    return json_load_stages(at, "processors", post_processors, loading);
}

static Error *make_layout(JsonNode at, PostLoading *l, TokenLayout *out)
{
    Draft *d = l->draft;
    d->n = d->n_groups = 1 + l->is_pair;
    d->n_added = 0;
    d->trim = NULL;
    d->n_trims = d->trim_cap = 0;
    for (int i = 0; i < d->n; i++) {
        d->part[i] = (LayoutPart){ .sequence = i, .type_id = (uint32_t)i };
        d->group[i] = i;
    }
    if (!json_node_is_null(at)) TRY(json_load_stage(at, post_processors, NULL, l));
    *out = (TokenLayout){ .part = arena_copy(l->arena, d->part, (size_t)d->n * sizeof *d->part),
                          .n = d->n,
                          .trim = d->trim,
                          .n_trims = d->n_trims,
                          .n_added = l->adds_special ? d->n_added : 0 };
    return NULL;
}

Error *post_processor_load(JsonNode at, Arena *a, int64_t n_ids, PostProcessor *out)
{
    Arena *scratch = arena_new();
    PostLoading l = { .arena = a, .n_ids = n_ids, .draft = NEW(scratch, Draft) };
    Error *e = NULL;
    for (int k = 0; k < 4 && !e; k++) {
        l.is_pair = k / 2;
        l.adds_special = k % 2;
        e = make_layout(at, &l, &out->layout[k / 2][k % 2]);
    }
    arena_free(scratch);
    return e;
}

static void put_part(TokenLayout *l, int sequence, uint32_t token, int of)
{
    const bool is_token = sequence < 0;
    l->part[l->n++] = (LayoutPart){
        .sequence = sequence, .token = token, .type_id = (uint32_t)of, .special = is_token
    };
    l->n_added += is_token;
}

PostProcessor post_processor_around(Arena *a, const uint32_t *front, const uint32_t *behind)
{
    PostProcessor p = { 0 };
    for (int pair = 0; pair < 2; pair++)
        for (int special = 0; special < 2; special++) {
            TokenLayout *l = &p.layout[pair][special];
            l->part = NEW_N(a, LayoutPart, 6);
            for (int i = 0; i <= pair; i++) {
                if (special && front) put_part(l, -1, *front, i);
                put_part(l, i, 0, i);
                if (special && behind) put_part(l, -1, *behind, i);
            }
        }
    return p;
}
