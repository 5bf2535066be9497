/* pretrained_hf_tokenizer.c - tokenizer.pretrained_hf_tokenizer: a folder with a tokenizer.json. */
#include "base/file.h"
#include "config/builder.h"
#include "tokenizer/hf/pretrained.h"

enum { LONGEST, MAX_LENGTH, DO_NOT_PAD };
static const char *const padding_names[] = { "longest", "max_length", "do_not_pad", NULL };

/* true means "longest". */
typedef struct PaddingSetting {
    int which;
    bool flag;
    int name;
} PaddingSetting;

static const Field padding_fields[] = {
    FIELD_BOOL(PaddingSetting, flag, NULL,
               "true: to the longest of a batch, which changes nothing here"),
    FIELD_CHOICE(PaddingSetting, name, NULL, padding_names, "how far"),
    { 0 },
};

typedef struct SpecialEntry {
    const char *key;
    StringList tokens;
} SpecialEntry;

typedef struct SpecialMap {
    SpecialEntry *item;
    int64_t n;
} SpecialMap;

static const Field special_entry =
    FIELD_STRINGS(SpecialEntry, tokens, NULL, 0, 0, "token or tokens", .flags = FIELD_LIST_OR_ONE);

typedef struct Settings {
    const char *pretrained_model_name_or_path;
    const int64_t *max_length;
    bool truncation;
    PaddingSetting padding;
    const SpecialMap *special_tokens;
} Settings;

static const Field fields[] = {
    FIELD_STRING(Settings, pretrained_model_name_or_path, NULL,
                 "folder with tokenizer.json, or that file", .role = PATH_READ_TOKENIZER),
    FIELD_INT(Settings, max_length, "null", 0, INFINITY,
              "for truncation and padding; null: the model_max_length of the folder",
              .flags = FIELD_STRICT),
    FIELD_BOOL(Settings, truncation, "false", "cut texts to max_length"),
    FIELD_UNION(Settings, padding, PaddingSetting, padding_fields, "false",
                "fill short texts with the pad token"),
    FIELD_MAP(Settings, special_tokens, SpecialMap, &special_entry, "null",
              "roles (bos_token, pad_token, additional_special_tokens, ...) of known tokens"),
    { 0 },
};

static Padding padding_of(const PaddingSetting *p)
{
    if (p->which == 0) return p->flag ? PADDING_LONGEST : PADDING_NONE;
    return p->name == LONGEST      ? PADDING_LONGEST
           : p->name == MAX_LENGTH ? PADDING_MAX_LENGTH
                                   : PADDING_NONE;
}

static SpecialToken *special_tokens(Arena *a, const SpecialMap *map, int *n)
{
    *n = 0;
    for (int64_t i = 0; map && i < map->n; i++) *n += (int)map->item[i].tokens.n;
    SpecialToken *list = NEW_N(a, SpecialToken, *n), *to = list;
    for (int64_t i = 0; map && i < map->n; i++) {
        const StringList *tokens = &map->item[i].tokens;
        for (int64_t k = 0; k < tokens->n; k++)
            *to++ = (SpecialToken){ map->item[i].key, tokens->item[k] };
    }
    return list;
}

static void release(void *tokenizer)
{
    ((Tokenizer *)tokenizer)->close(tokenizer);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    PretrainedHf p = {
        .path = s->pretrained_model_name_or_path,
        .max_length = s->max_length ? *s->max_length : -1,
        .truncation = s->truncation,
        .padding = padding_of(&s->padding),
    };
    p.special_tokens = special_tokens(builder_arena(b), s->special_tokens, &p.n_special_tokens);
    Tokenizer *t;
    TRY(pretrained_hf_open(&p, &t));
    arena_on_free(builder_arena(b), release, t);
    t->folder = is_directory(p.path) ? p.path : path_folder(builder_arena(b), p.path);
    *out = t;
    return NULL;
}

const ComponentDef tokenizer_pretrained_hf_tokenizer = {
    .kind = "tokenizer",
    .variant = "pretrained_hf_tokenizer",
    .doc = "A Hugging Face tokenizer.json with the settings beside it, as transformers' "
           "AutoTokenizer uses them.",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
