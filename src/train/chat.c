/* chat.c - finds a folder's chat template and renders it over one message. */
#include "train/chat.h"
#include "base/file.h"
#include "template/template.h"
#include "template/value_json.h"

enum { BOS, EOS, N_TOKENS };
static const char *const tokens[] = { "bos_token", "eos_token" };

struct Chat {
    const char *path; /* of the template, for messages */
    Template *template;
    TemplateValue token[N_TOKENS];
    const char *end;
};

/* A token is named by its text, or described with it. */
static TemplateValue token_of(TemplateValue config, const char *name)
{
    const TemplateValue *v =
        config.kind == TEMPLATE_MAP ? value_map_get(config, str_of(name)) : NULL;
    if (v && v->kind == TEMPLATE_MAP) v = value_map_get(*v, str_of("content"));
    return v && v->kind == TEMPLATE_TEXT ? *v : value_text(str_of(""));
}

static Error *read_config(Arena *a, const char *path, TemplateValue *out)
{
    Str text;
    int64_t column = -1;
    *out = value_none();
    if (!file_exists(path)) return NULL;
    TRY(file_read(a, path, &text));
    return error_wrap(value_from_json(a, text, out, &column), "%s", path);
}

static bool is_named(const TemplateValue *v, const char *name)
{
    const TemplateValue *key = v->kind == TEMPLATE_MAP ? value_map_get(*v, str_of("name")) : NULL;
    return key && key->kind == TEMPLATE_TEXT && str_is(key->text, name);
}

/* A text, or a list of {name, template}. */
static const TemplateValue *template_in(TemplateValue config)
{
    const TemplateValue *v =
        config.kind == TEMPLATE_MAP ? value_map_get(config, str_of("chat_template")) : NULL;
    for (int64_t i = 0; v && v->kind == TEMPLATE_LIST && i < v->list->n; i++)
        if (is_named(&v->list->item[i], "default"))
            return value_map_get(v->list->item[i], str_of("template"));
    return v;
}

static Error *find_template(Arena *a, const char *folder, TemplateValue config, Chat *c, Str *out)
{
    c->path = path_join(a, folder, "chat_template.jinja");
    if (file_exists(c->path)) return file_read(a, c->path, out);
    const TemplateValue *v = template_in(config);
    c->path = path_join(a, folder, "tokenizer_config.json");
    if (!v || v->kind != TEMPLATE_TEXT)
        return error_new("%s has no chat template: neither a chat_template.jinja nor a "
                         "chat_template in its tokenizer_config.json",
                         folder);
    *out = v->text;
    return NULL;
}

Error *chat_open(Arena *a, const char *folder, Chat **out)
{
    Chat *c = NEW(a, Chat);
    TemplateValue config;
    Str text;
    TRY(read_config(a, path_join(a, folder, "tokenizer_config.json"), &config));
    TRY(find_template(a, folder, config, c, &text));
    TRY(error_wrap(template_parse(a, text, false, &c->template), "%s: chat template", c->path));
    for (int i = 0; i < N_TOKENS; i++) c->token[i] = token_of(config, tokens[i]);
    const Str end = c->token[EOS].text;
    if (end.len) c->end = arena_string_n(a, end.ptr, end.len);
    *out = c;
    return NULL;
}

static TemplateValue message_of(Arena *a, const char *role, const char *content)
{
    TemplateValue message = value_map(a);
    value_map_set(message, str_of("role"), value_text(str_of(role)));
    value_map_set(message, str_of("content"), value_text(str_of(content)));
    return message;
}

Error *chat_text(const Chat *c, Arena *a, const char *system, const char *message, const char **out)
{
    TemplateValue *item;
    const TemplateValue messages = value_list(a, TEMPLATE_LIST, system ? 2 : 1, &item);
    if (system) *item++ = message_of(a, "system", system);
    *item = message_of(a, "user", message);
    const Variable variable[] = {
        { "messages", messages },
        { "add_generation_prompt", value_bool(true) },
        { tokens[BOS], c->token[BOS] },
        { tokens[EOS], c->token[EOS] },
    };
    Text text = { 0 };
    Error *e = template_render(c->template, variable, (int)(sizeof variable / sizeof *variable),
                               TEMPLATE_WORK, a, &text);
    if (!e) *out = arena_string(a, text.ptr ? text.ptr : "");
    text_free(&text);
    return error_wrap(e, "%s: chat template", c->path);
}

const char *chat_end(const Chat *c)
{
    return c->end;
}
