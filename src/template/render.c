/* render.c - statements to text. */
#include "template/evaluate.h"
#include "template/function.h"
#include "template/lexer.h"
#include <string.h>

/* ---- names ---- */

void scope_set(Run *r, const char *name, TemplateValue value)
{
    Scope *s = r->scope;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->item[i].name != name) continue;
        s->item[i].value = value;
        return;
    }
    s->item = arena_grow(r->arena, s->item, s->n, &s->cap, sizeof *s->item);
    s->item[s->n++] = (Binding){ name, value };
}

static Error *set_entry(Run *r, const Target *t, TemplateValue value)
{
    for (const Scope *s = r->scope; s; s = s->around)
        for (int64_t i = 0; i < s->n; i++) {
            if (s->item[i].name != t->name) continue;
            if (s->item[i].value.kind != TEMPLATE_NAMESPACE) break;
            TRY(meter_spend(&r->meter, 128));
            value_map_set(s->item[i].value, str_of(t->entry), value);
            return NULL;
        }
    return error_new("'%s' is no namespace: only entries of namespace(...) can be set", t->name);
}

static Error *assign_one(Run *r, const Target *t, TemplateValue value)
{
    if (t->entry) return set_entry(r, t, value);
    scope_set(r, t->name, value);
    return NULL;
}

Error *assign_targets(Run *r, const Targets *t, TemplateValue value)
{
    TemplateValue list;
    if (!t->is_tuple) return assign_one(r, &t->item[0], value);
    TRY(list_of(r, value, &list));
    if (list.list->n != t->n)
        return error_new("%lld values for %lld names", (long long)list.list->n, (long long)t->n);
    for (int64_t i = 0; i < t->n; i++) TRY(assign_one(r, &t->item[i], list.list->item[i]));
    return NULL;
}

/* ---- text that becomes a value ---- */

/* Renders a body in a scope of its own. */
static Error *render_to_value(Run *r, const Body *b, Scope *scope, TemplateValue *out)
{
    Text text = { 0 }, *outer_text = r->out;
    Scope *outer_scope = r->scope;
    Outcome outcome;
    r->out = &text;
    r->scope = scope;
    Error *e = render_body(r, b, &outcome);
    r->out = outer_text;
    r->scope = outer_scope;
    return finish_text(r, &text, e, out);
}

static Error *bind_parameters(Run *r, const Macro *m, const Call *c)
{
    const Arguments *p = &m->node->arguments;
    bool is_given[MOST_PARAMETERS] = { false };
    for (int64_t i = 0; i < c->n; i++) {
        int64_t at = i;
        if (c->name[i])
            for (at = 0; at < p->n && p->item[at].name != c->name[i]; at++) {
            }
        if (at >= p->n)
            return c->name[i]
                       ? error_new("macro '%s' has no parameter '%s'", m->node->name, c->name[i])
                       : error_new("macro '%s' has %lld parameters", m->node->name,
                                   (long long)p->n);
        if (is_given[at])
            return error_new("macro '%s' is given '%s' twice", m->node->name, p->item[at].name);
        is_given[at] = true;
        scope_set(r, p->item[at].name, c->value[i]);
    }
    for (int64_t i = 0; i < p->n; i++) {
        if (is_given[i]) continue;
        TemplateValue v = value_undefined(str_of(p->item[i].name));
        if (p->item[i].node) TRY(evaluate_node(r, p->item[i].node, &v));
        scope_set(r, p->item[i].name, v);
    }
    return NULL;
}

Error *call_macro(Run *r, const Macro *m, const Call *c, TemplateValue *out)
{
    Scope scope = { .around = m->scope }, *outer = r->scope,
          *own = arena_copy(r->arena, &scope, sizeof scope);
    TRY(meter_enter(&r->meter));
    r->scope = own; /* in the arena: a macro inside may outlive this call */
    Error *e = bind_parameters(r, m, c);
    r->scope = outer;
    if (!e) e = render_to_value(r, &m->node->body, own, out);
    meter_leave(&r->meter);
    return e;
}

/* ---- statements ---- */

static Error *set_block(Run *r, const Node *n)
{
    Scope *scope = NEW(r->arena, Scope);
    scope->around = r->scope;
    TemplateValue v, outer = r->body_text;
    TRY(render_to_value(r, &n->body, scope, &r->body_text));
    TRY(evaluate_node(r, n->left, &v));
    r->body_text = outer;
    return assign_targets(r, &n->targets, v);
}

/* The items for which the loop's condition holds. */
static Error *select_items(Run *r, const Node *n, Scope *scope, TemplateValue *list)
{
    TemplateValue *item, kept, condition;
    int64_t n_kept = 0;
    if (!n->right) return NULL;
    TRY(new_list(r, TEMPLATE_LIST, list->list->n, &item, &kept));
    for (int64_t i = 0; i < list->list->n; i++) {
        scope->n = 0;
        TRY(assign_targets(r, &n->targets, list->list->item[i]));
        TRY(evaluate_node(r, n->right, &condition));
        if (value_is_true(condition)) item[n_kept++] = list->list->item[i];
    }
    ((ValueList *)kept.list)->n = n_kept;
    *list = kept;
    return NULL;
}

static Error *repeat_body(Run *r, const Node *n, Scope *scope, const ValueList *items)
{
    Loop *loop = NEW(r->arena, Loop);
    *loop = (Loop){ .items = items };
    Outcome outcome = OUTCOME_END;
    for (; loop->index0 < items->n && outcome != OUTCOME_BREAK; loop->index0++) {
        scope->n = 0;
        if (r->loop) scope_set(r, r->loop, (TemplateValue){ .kind = TEMPLATE_LOOP, .loop = loop });
        TRY(assign_targets(r, &n->targets, items->item[loop->index0]));
        TRY(render_body(r, &n->body, &outcome));
    }
    return NULL;
}

static Error *run_loop(Run *r, const Node *n, TemplateValue list, Outcome *outcome)
{
    Scope *scope = NEW(r->arena, Scope), *outer = r->scope;
    scope->around = outer;
    r->scope = scope;
    Error *e = select_items(r, n, scope, &list);
    if (!e) e = repeat_body(r, n, scope, list.list);
    r->scope = outer;
    if (e || list.list->n) return e;
    return render_body(r, &n->otherwise, outcome);
}

static Error *render_for(Run *r, const Node *n, Outcome *outcome)
{
    TemplateValue v, list;
    TRY(evaluate_node(r, n->left, &v));
    TRY(list_of(r, v, &list));
    return run_loop(r, n, list, outcome);
}

static Error *render_if(Run *r, const Node *n, Outcome *outcome)
{
    TemplateValue condition;
    TRY(evaluate_node(r, n->left, &condition));
    return render_body(r, value_is_true(condition) ? &n->body : &n->otherwise, outcome);
}

static Error *define_macro(Run *r, const Node *n)
{
    Macro *m = NEW(r->arena, Macro);
    *m = (Macro){ .node = n, .scope = r->scope };
    scope_set(r, n->name, (TemplateValue){ .kind = TEMPLATE_MACRO, .macro = m });
    return NULL;
}

static Error *render_scope(Run *r, const Node *n, Outcome *outcome)
{
    Scope *scope = NEW(r->arena, Scope), *outer = r->scope;
    scope->around = outer;
    r->scope = scope;
    Error *e = render_body(r, &n->body, outcome);
    r->scope = outer;
    return e;
}

static Error *render_statement(Run *r, const Node *n, Outcome *outcome)
{
    TemplateValue v;
    switch (n->kind) {
    case NODE_TEXT:
        return meter_add(&r->meter, r->out, n->value.text);
    case NODE_PRINT:
        TRY(evaluate_node(r, n->left, &v));
        return value_print(&r->meter, v, r->out);
    case NODE_IF:
        return render_if(r, n, outcome);
    case NODE_FOR:
        return render_for(r, n, outcome);
    case NODE_SET:
        TRY(evaluate_node(r, n->left, &v));
        return assign_targets(r, &n->targets, v);
    case NODE_SET_BLOCK:
        return set_block(r, n);
    case NODE_MACRO:
        return define_macro(r, n);
    case NODE_SCOPE:
        return render_scope(r, n, outcome);
    case NODE_BREAK:
        *outcome = OUTCOME_BREAK;
        return NULL;
    case NODE_CONTINUE:
        *outcome = OUTCOME_CONTINUE;
        return NULL;
    default:
        CHECK(false);
        return NULL;
    }
}

Error *render_body(Run *r, const Body *b, Outcome *outcome)
{
    *outcome = OUTCOME_END;
    TRY(meter_enter(&r->meter));
    for (int64_t i = 0; i < b->n && *outcome == OUTCOME_END; i++) {
        const Node *n = b->item[i];
        Error *e = meter_spend(&r->meter, 64);
        if (!e) e = render_statement(r, n, outcome);
        if (!e) continue;
        if (r->has_place) return e;
        r->has_place = true;
        return template_fault(n->line, n->column, e);
    }
    meter_leave(&r->meter);
    return NULL;
}

Error *template_render(const Template *t, const Variable *variable, int n_variables, int64_t work,
                       Arena *scratch, Text *out)
{
    Scope outermost = { 0 };
    Run r = { .arena = scratch,
              .meter = { .work_left = work, .depth_left = MOST_VALUE_DEPTH },
              .scope = &outermost,
              .out = out,
              .loop = map_get(t->names, str_of("loop")) };
    for (int i = 0; i < n_variables; i++) {
        const char *name = map_get(t->names, str_of(variable[i].name));
        if (name) scope_set(&r, name, variable[i].value);
    }
    Outcome outcome;
    return render_body(&r, &t->body, &outcome);
}
