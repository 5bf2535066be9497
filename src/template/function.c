/* function.c - finds functions by name and gives their arguments their places. */
#include "template/function.h"
#include <string.h>

enum { TABLES_PER_KIND = 2 };

static const struct {
    const char *what;
    const Function *table[TABLES_PER_KIND];
} kinds[N_FUNCTION_KINDS] = {
    [FUNCTION_FILTER] = { "filter", { filter_functions, list_filter_functions } },
    [FUNCTION_TEST] = { "test", { test_functions } },
    [FUNCTION_GLOBAL] = { "function", { global_functions } },
    [FUNCTION_TEXT_METHOD] = { "method of text", { text_methods } },
    [FUNCTION_MAP_METHOD] = { "method of mappings", { map_methods } },
    [FUNCTION_LIST_METHOD] = { "method of lists", { list_methods } },
    [FUNCTION_LOOP_METHOD] = { "method of loop", { loop_methods } },
};

const Function *function_find(FunctionKind kind, Str name)
{
    for (int k = 0; k < TABLES_PER_KIND; k++)
        for (const Function *f = kinds[kind].table[k]; f && f->name; f++)
            if (str_is(name, f->name)) return f;
    return NULL;
}

Error *function_unknown(FunctionKind kind, Str name)
{
    Text allowed = { 0 };
    for (int k = 0; k < TABLES_PER_KIND; k++)
        for (const Function *f = kinds[kind].table[k]; f && f->name; f++)
            text_printf(&allowed, "%s%s", allowed.len ? ", " : "", f->name);
    Error *e = error_new("there is no %s '%.*s' here; allowed are %s", kinds[kind].what,
                         (int)name.len, name.ptr, allowed.ptr);
    text_free(&allowed);
    return e;
}

FunctionKind methods_of(TemplateKind kind)
{
    switch (kind) {
    case TEMPLATE_TEXT:
        return FUNCTION_TEXT_METHOD;
    case TEMPLATE_MAP:
        return FUNCTION_MAP_METHOD;
    case TEMPLATE_LIST:
    case TEMPLATE_TUPLE:
        return FUNCTION_LIST_METHOD;
    case TEMPLATE_LOOP:
        return FUNCTION_LOOP_METHOD;
    default:
        return N_FUNCTION_KINDS;
    }
}

static int find_parameter(const Function *f, const char *name)
{
    for (int i = 0; i < MOST_BOUND && f->parameters[i]; i++)
        if (!strcmp(f->parameters[i], name)) return i;
    return -1;
}

static Error *bind(const Function *f, Call *c)
{
    int n_parameters = 0;
    while (n_parameters < MOST_BOUND && f->parameters[n_parameters]) n_parameters++;
    for (int64_t i = 0; i < c->n; i++) {
        int at = c->name[i] ? find_parameter(f, c->name[i]) : (int)i;
        if (at < 0) return error_new("'%s' has no argument '%s'", f->name, c->name[i]);
        if (!c->name[i] && i >= n_parameters)
            return error_new("'%s' takes at most %d arguments", f->name, n_parameters);
        if (c->is_given[at])
            return error_new("'%s' is given its argument '%s' twice", f->name, f->parameters[at]);
        c->arg[at] = c->value[i];
        c->is_given[at] = true;
    }
    for (int i = 0; i < f->n_required; i++)
        if (!c->is_given[i])
            return error_new("'%s' lacks its argument '%s'", f->name, f->parameters[i]);
    return NULL;
}

Error *function_call(Run *r, const Function *f, Call *c, TemplateValue *out)
{
    if (!f->is_variadic) TRY(bind(f, c));
    return f->call(r, c, out);
}

Error *argument_text(const Call *c, int i, Str otherwise, Str *out)
{
    *out = otherwise;
    if (!c->is_given[i]) return NULL;
    if (c->arg[i].kind != TEMPLATE_TEXT)
        return error_new("an argument is %s where text is needed", value_kind_name(c->arg[i]));
    *out = c->arg[i].text;
    return NULL;
}

Error *argument_int(const Call *c, int i, int64_t otherwise, int64_t *out)
{
    *out = otherwise;
    if (!c->is_given[i]) return NULL;
    TemplateValue v = c->arg[i];
    if (v.kind != TEMPLATE_INT && v.kind != TEMPLATE_BOOL)
        return error_new("an argument is %s where an integer is needed", value_kind_name(v));
    *out = v.kind == TEMPLATE_BOOL ? v.boolean : v.integer;
    return NULL;
}

bool argument_is_true(const Call *c, int i, bool otherwise)
{
    return c->is_given[i] ? value_is_true(c->arg[i]) : otherwise;
}

Error *self_text(const Call *c, Str *out)
{
    if (c->self.kind != TEMPLATE_TEXT)
        return error_new("%s where text is needed", value_kind_name(c->self));
    *out = c->self.text;
    return NULL;
}
