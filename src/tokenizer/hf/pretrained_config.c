/* pretrained_config.c - reads tokenizer_config.json and, where that is of the older kind,
 * special_tokens_map.json. */
#include "tokenizer/hf/pretrained_config.h"
#include "base/file.h"
#include <string.h>

const char *const token_roles[N_TOKEN_ROLES + 1] = { "bos_token",  "eos_token", "unk_token",
                                                     "sep_token",  "pad_token", "cls_token",
                                                     "mask_token", NULL };

/* Classes of transformers whose ids are those of tokenizer.json as it stands, or with the tokens
 * bos and eos around a text; and the tokens that their constructors give to roles. "Fast" may stand
 * after the name. */
typedef struct TokenizerClass {
    const char *name;
    const char *token[N_TOKEN_ROLES]; /* as token_roles */
    bool wraps;                       /* add_bos_token and add_eos_token decide */
    bool adds_bos;                    /* where they are not given */
    bool mask_takes_blanks;           /* blanks in front of the mask belong to it */
    bool refuses_prefix; /* with add_prefix_space it is made from other files, or otherwise */
} TokenizerClass;

#define END "<|endoftext|>"
/* clang-format off */
static const TokenizerClass classes[] = {
    { .name = "GPT2Tokenizer", .token = { END, END, END } },
    { .name = "CodeGenTokenizer", .token = { END, END, END } },
    { .name = "Qwen2Tokenizer", .token = { NULL, END, END, NULL, END } },
    { .name = "WhisperTokenizer", .token = { END, END, END } },
    { .name = "BloomTokenizer", .token = { "<s>", "</s>", "<unk>", NULL, "<pad>" }, .refuses_prefix = true },
    { .name = "RobertaTokenizer", .token = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" }, .mask_takes_blanks = true },
    { .name = "BartTokenizer", .token = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" }, .mask_takes_blanks = true },
    { .name = "LongformerTokenizer", .token = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" }, .mask_takes_blanks = true },
    { .name = "XLMRobertaTokenizer", .token = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" }, .mask_takes_blanks = true },
    { .name = "GPTNeoXTokenizer", .token = { END, END, END }, .wraps = true },
    { .name = "LlamaTokenizer", .token = { "<s>", "</s>", "<unk>" }, .wraps = true, .adds_bos = true, .refuses_prefix = true },
    { .name = "GemmaTokenizer", .token = { "<bos>", "<eos>", "<unk>", NULL, "<pad>" }, .wraps = true, .adds_bos = true },
    { .name = "CohereTokenizer", .token = { "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>" }, .wraps = true, .adds_bos = true, .refuses_prefix = true },
    { .name = "PreTrainedTokenizer", .token = { NULL } },
    { 0 },
};
/* clang-format on */
#undef END

static bool is_class(const TokenizerClass *k, Str name)
{
    static const char fast[] = "Fast";
    const size_t len = strlen(k->name), tail = name.len - len;
    if (name.len < len || memcmp(name.ptr, k->name, len)) return false;
    if (k->token[1] && tail == 0) return true; /* PreTrainedTokenizer alone is an abstract class */
    return tail == strlen(fast) && !memcmp(name.ptr + len, fast, tail);
}

static Error *unknown_class(JsonNode at)
{
    Text known = { 0 };
    for (const TokenizerClass *k = classes; k->token[1]; k++) text_printf(&known, "%s, ", k->name);
    Error *e = json_node_error(at,
                               "is not supported (supported: %seach also with Fast, and "
                               "PreTrainedTokenizerFast)",
                               known.ptr);
    text_free(&known);
    return e;
}

/* What the class puts around a text. */
static Error *read_wrapping(JsonNode root, const TokenizerClass *k, PretrainedConfig *c)
{
    c->wraps = true;
    TRY(json_get_bool(root, "add_bos_token", k->adds_bos ? DEFAULT_TRUE : DEFAULT_FALSE,
                      &c->adds_bos));
    return json_get_bool(root, "add_eos_token", DEFAULT_FALSE, &c->adds_eos);
}

static Error *read_class(JsonNode root, PretrainedConfig *c)
{
    Str name;
    TRY(json_get_optional_string(root, "tokenizer_class", &name));
    if (!name.ptr) return NULL;
    const TokenizerClass *k = classes;
    while (k->name && !is_class(k, name)) k++;
    if (!k->name) return unknown_class(json_member(root, "tokenizer_class"));
    for (int i = 0; i < N_TOKEN_ROLES; i++)
        if (k->token[i])
            c->role[i].token = (AddedToken){ .content = str_of(k->token[i]), .special = true };
    c->mask_takes_blanks = c->role[MASK_ROLE].token.lstrip = k->mask_takes_blanks;
    const JsonNode prefix = json_member(root, "add_prefix_space");
    if (k->refuses_prefix && json_is_true(prefix.value))
        return json_node_error(prefix,
                               "is not supported for %s: transformers makes such a "
                               "tokenizer anew, not from tokenizer.json",
                               k->name);
    return k->wraps ? read_wrapping(root, k, c) : NULL;
}

/* {"content": ..., flags}; flags may be missing. */
static Error *read_described(JsonNode at, AddedToken *out)
{
    static const char *const known[] = { "content",    "single_word", "lstrip", "rstrip",
                                         "normalized", "special",     "__type", NULL };
    *out = (AddedToken){ 0 };
    TRY(json_node_only(at, known));
    TRY(json_get_string(at, "content", &out->content));
    TRY(json_get_bool(at, "single_word", DEFAULT_FALSE, &out->single_word));
    TRY(json_get_bool(at, "lstrip", DEFAULT_FALSE, &out->lstrip));
    TRY(json_get_bool(at, "rstrip", DEFAULT_FALSE, &out->rstrip));
    TRY(json_get_bool(at, "special", DEFAULT_FALSE, &out->special));
    return json_get_bool(at, "normalized", out->special ? DEFAULT_FALSE : DEFAULT_TRUE,
                         &out->normalized);
}

static Error *read_role_token(JsonNode at, RoleToken *out)
{
    *out = (RoleToken){ 0 };
    if (json_is_string(at.value)) {
        out->token.content = (Str){ json_string_value(at.value), json_string_length(at.value) };
        return NULL;
    }
    if (!json_is_object(at.value))
        return json_node_error(at, "must be text or an object with \"content\"");
    out->has_flags = true;
    return read_described(at, &out->token);
}

static bool is_additional(const PretrainedConfig *c, Str content)
{
    for (int64_t i = 0; i < c->n_additional; i++) {
        if (str_equal(c->additional[i].token.content, content)) return true;
    }
    return false;
}

/* The roles in this object replace those known so far; additional tokens are joined. */
static Error *read_roles(JsonNode root, PretrainedConfig *c)
{
    for (int i = 0; i < N_TOKEN_ROLES; i++) {
        JsonNode at = json_member(root, token_roles[i]);
        if (json_is_null(at.value))
            c->role[i] = (RoleToken){ 0 };
        else if (at.value)
            TRY(read_role_token(at, &c->role[i]));
    }
    if (!c->role[MASK_ROLE].has_flags) c->role[MASK_ROLE].token.lstrip = c->mask_takes_blanks;
    JsonNode list = json_member(root, "additional_special_tokens");
    if (json_node_is_null(list)) return NULL;
    if (!json_is_array(list.value)) return json_node_error(list, "must be a list");
    int64_t n = (int64_t)json_array_size(list.value);
    RoleToken *joined = NEW_N(root.arena, RoleToken, c->n_additional + n);
    if (c->n_additional) memcpy(joined, c->additional, (size_t)c->n_additional * sizeof *joined);
    c->additional = joined;
    for (int64_t i = 0; i < n; i++) {
        RoleToken token;
        TRY(read_role_token(json_item(list, (size_t)i), &token));
        if (!is_additional(c, token.token.content)) c->additional[c->n_additional++] = token;
    }
    return NULL;
}

typedef struct Numbered {
    AddedToken token;
    double id;
} Numbered;

static int by_id(const void *x, const void *y)
{
    const Numbered *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

/* {"50256": {"content": ...}, ...} */
static Error *read_added(JsonNode at, PretrainedConfig *c)
{
    if (json_node_is_null(at)) return NULL;
    if (!json_is_object(at.value))
        return json_node_error(at, "must be an object of ids and tokens");
    int64_t n = 0, room = (int64_t)json_object_size(at.value);
    Numbered *list = NEW_N(at.arena, Numbered, room);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)at.value, key, value)
    {
        char *end;
        list[n].id = strtod(key, &end);
        if (!*key || *end)
            return json_node_error(json_member(at, key), "must have an id as its key");
        TRY(read_described(json_member(at, key), &list[n++].token));
    }
    qsort(list, (size_t)n, sizeof *list, by_id);
    c->has_added = true;
    c->added = NEW_N(at.arena, AddedToken, n);
    c->n_added = n;
    for (int64_t i = 0; i < n; i++) c->added[i] = list[i].token;
    return NULL;
}

static Error *read_side(JsonNode root, const char *key, Str *out)
{
    TRY(json_get_optional_string(root, key, out));
    if (!out->ptr || str_is(*out, "left") || str_is(*out, "right")) return NULL;
    return json_node_error(json_member(root, key), "must be \"left\" or \"right\"");
}

/* transformers writes int(1e30) for "unlimited" and treats all beyond 1e20 so. */
static Error *read_max_length(JsonNode root, PretrainedConfig *c)
{
    JsonNode at = json_member(root, "model_max_length");
    c->model_max_length = -1;
    if (json_node_is_null(at)) return NULL;
    double x = json_real_value(at.value);
    if (!json_is_real(at.value) || x < 0) return json_node_error(at, "must be a number of tokens");
    if (x <= 1e15) c->model_max_length = (int64_t)x;
    return NULL;
}

static Error *read_config(JsonNode root, PretrainedConfig *c)
{
    if (!json_is_object(root.value)) return json_node_error(root, "must be an object");
    TRY(read_class(root, c));
    TRY(read_roles(root, c));
    TRY(read_added(json_member(root, "added_tokens_decoder"), c));
    TRY(json_get_bool(root, "add_prefix_space", DEFAULT_FALSE, &c->add_prefix_space));
    TRY(json_get_bool(root, "clean_up_tokenization_spaces", DEFAULT_FALSE, &c->clean_up_spaces));
    TRY(json_get_bool(root, "split_special_tokens", DEFAULT_FALSE, &c->split_special));
    TRY(read_side(root, "padding_side", &c->padding_side));
    TRY(read_side(root, "truncation_side", &c->truncation_side));
    return read_max_length(root, c);
}

Error *pretrained_config_read(Arena *a, const char *folder, PretrainedConfig *c)
{
    *c = (PretrainedConfig){ .model_max_length = -1 };
    const char *file = path_join(a, folder, "tokenizer_config.json");
    if (!file_exists(file)) return NULL;
    c->exists = true;
    JsonNode root;
    TRY(json_node_read(a, file, JSON_DECODE_INT_AS_REAL, &root)); /* int(1e30) is no int64_t */
    TRY(error_wrap(read_config(root, c), "%s", file));
    const char *map = path_join(a, folder, "special_tokens_map.json");
    if (c->has_added || !file_exists(map)) return NULL;
    TRY(json_node_read(a, map, 0, &root));
    return error_wrap(read_roles(root, c), "%s", map);
}
