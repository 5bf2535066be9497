/* conversation.c - maps roles and renders the chat template, one line at a time. */
#include "data/conversation.h"
#include "data/bad_line.h"
#include "template/value_json.h"

static Error *map_role(const Conversation *c, TemplateValue message, const char *key)
{
    const StringMap *m = &c->config->instruction_data_transformation.role_mapping;
    const TemplateValue *role = value_map_get(message, str_of(key));
    if (!role) return NULL;
    if (role->kind != TEMPLATE_TEXT)
        return error_new("'%s' of a message is %s where text is needed", key,
                         value_kind_name(*role));
    for (int64_t i = 0; i < m->n; i++) {
        if (!str_is(role->text, m->item[i].key)) continue;
        value_map_set(message, str_of(key), value_text(str_of(m->item[i].value)));
        return NULL;
    }
    Text known = { 0 };
    for (int64_t i = 0; i < m->n; i++) text_printf(&known, "%s%s", i ? ", " : "", m->item[i].key);
    Error *e = error_new("the %s '%.*s' is not in role_mapping, which has %s", key,
                         (int)role->text.len, role->text.ptr, known.len ? known.ptr : "no entry");
    text_free(&known);
    return e;
}

static Error *map_roles(const Conversation *c, TemplateValue messages)
{
    for (int64_t i = 0; i < messages.list->n; i++) {
        TemplateValue message = messages.list->item[i];
        if (message.kind != TEMPLATE_MAP)
            return error_new("message %lld is %s where a mapping is needed", (long long)i + 1,
                             value_kind_name(message));
        TRY(map_role(c, message, "role"));
        TRY(map_role(c, message, "from"));
    }
    return NULL;
}

static TemplateValue value_of_yaml(Arena *a, const Yaml *y)
{
    TemplateValue *item, v;
    switch (y->type) {
    case YAML_NULL:
        return value_none();
    case YAML_BOOL:
        return value_bool(y->boolean);
    case YAML_INT:
        if (y->is_too_large)
            return (TemplateValue){ .kind = TEMPLATE_BIG, .text = str_of(y->text) };
        return value_int(y->integer);
    case YAML_FLOAT:
        return value_float(y->number);
    case YAML_LIST:
        v = value_list(a, TEMPLATE_LIST, y->n, &item);
        for (int64_t i = 0; i < y->n; i++) item[i] = value_of_yaml(a, y->item[i]);
        return v;
    case YAML_MAP:
        v = value_map(a);
        for (int64_t i = 0; i < y->n; i++)
            value_map_set(v, str_of(y->key[i]->text), value_of_yaml(a, y->item[i]));
        return v;
    default:
        return value_text((Str){ y->text, y->text_len });
    }
}

static Error *convert(Conversation *c, Str line, Text *out, int64_t *column)
{
    const char *key = c->config->settings.messages_key;
    TemplateValue entry;
    TRY(line_too_long((int64_t)line.len, c->config->settings.max_line_bytes));
    TRY(value_from_json(c->scratch, line, &entry, column));
    if (entry.kind != TEMPLATE_MAP)
        return error_new("the line is %s where a mapping is needed", value_kind_name(entry));
    const TemplateValue *messages = value_map_get(entry, str_of(key));
    if (!messages) return error_new("messages_key '%s' is not in the line", key);
    if (messages->kind != TEMPLATE_LIST)
        return error_new("'%s' is %s where a list of messages is needed", key,
                         value_kind_name(*messages));
    TRY(map_roles(c, *messages));
    const Variable variable[] = { { "messages", *messages }, { "chat_template_data", c->data } };
    text_clear(&c->chat);
    TRY(error_wrap(template_render(c->template, variable, 2, TEMPLATE_WORK, c->scratch, &c->chat),
                   "jinja2_chat_template"));
    value_map_set(entry, str_of("chat"), value_text_copy(c->scratch, &c->chat));
    Meter meter = { .work_left = INT64_MAX, .depth_left = MOST_VALUE_DEPTH };
    TRY(value_to_json(&meter, entry, &json_plain, out));
    text_putc(out, '\n');
    return NULL;
}

Error *conversation_convert(Conversation *c, Str line, Text *out, int64_t *column)
{
    size_t before = out->len;
    *column = -1;
    Error *e = convert(c, line, out, column);
    if (e) out->len = before;
    arena_clear(c->scratch);
    return e;
}

void conversation_open(const InstructionConfig *config, const Template *t, Conversation *out)
{
    *out = (Conversation){
        .config = config, .template = t, .arena = arena_new(), .scratch = arena_new()
    };
    out->data = value_of_yaml(out->arena, config->chat_template_data);
}

void conversation_close(Conversation *c)
{
    arena_free(c->arena);
    arena_free(c->scratch);
    text_free(&c->chat);
}
