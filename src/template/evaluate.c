/* evaluate.c - expressions to values. */
#include "template/evaluate.h"
#include "base/utf8.h"
#include "template/characters.h"
#include "template/function.h"
#include "template/lexer.h"
#include <string.h>

Error *new_list(Run *r, ValueKind kind, int64_t n, Value **item, Value *out)
{
    if (n > r->meter.work_left) n = r->meter.work_left + 1; /* refused by the next line */
    TRY(meter_spend(&r->meter, n * (int64_t)sizeof(Value) + 64));
    *out = value_list(r->arena, kind, n, item);
    return NULL;
}

Error *finish_text(Run *r, Text *t, Error *e, Value *out)
{
    if (!e) *out = value_text_copy(r->arena, t);
    text_free(t);
    return e;
}

/* ---- parts of values ---- */

static Error *characters_of(Run *r, Str s, Value *out)
{
    Value *item;
    TRY(new_list(r, VALUE_LIST, characters_count(s), &item, out));
    int len;
    for (size_t at = 0; at < s.len; at += (size_t)len) {
        utf8_decode(s.ptr + at, &len);
        *item++ = value_text((Str){ s.ptr + at, (size_t)len });
    }
    return NULL;
}

static Error *use_generator(Value v, Value *out)
{
    ValueList *l = (ValueList *)v.list;
    if (l->is_used)
        return error_new("a generator can be gone through once: | list makes a list of it");
    l->is_used = true;
    *out = v;
    return NULL;
}

Error *list_of(Run *r, Value v, Value *out)
{
    Value *item;
    switch (v.kind) {
    case VALUE_LIST:
    case VALUE_TUPLE:
        *out = v;
        return NULL;
    case VALUE_GENERATOR:
        return use_generator(v, out);
    case VALUE_TEXT:
        return characters_of(r, v.text, out);
    case VALUE_UNDEFINED:
        return new_list(r, VALUE_LIST, 0, &item, out);
    case VALUE_MAP:
        TRY(new_list(r, VALUE_LIST, v.map->n, &item, out));
        for (int64_t i = 0; i < v.map->n; i++) item[i] = value_text(v.map->entry[i].key);
        return NULL;
    default:
        return error_new("%s has no items to go through", value_kind_name(v));
    }
}

Error *map_items(Run *r, Value map, Value *out)
{
    Value *item;
    TRY(new_list(r, VALUE_LIST, map.map->n, &item, out));
    for (int64_t i = 0; i < map.map->n; i++) {
        Value *pair;
        TRY(new_list(r, VALUE_TUPLE, 2, &pair, &item[i]));
        pair[0] = value_text(map.map->entry[i].key);
        pair[1] = *(const Value *)map.map->entry[i].value;
    }
    return NULL;
}

static Value loop_neighbour(const Loop *l, int64_t at)
{
    bool is_inside = at >= 0 && at < l->items->n;
    return is_inside ? l->items->item[at] : value_undefined(str_of("there is no such item"));
}

static Value loop_attribute(const Loop *l, Str name)
{
    const int64_t n = l->items->n, i = l->index0;
    const struct {
        const char *name;
        Value value;
    } row[] = { { "index", value_int(i + 1) },
                { "index0", value_int(i) },
                { "revindex", value_int(n - i) },
                { "revindex0", value_int(n - i - 1) },
                { "first", value_bool(i == 0) },
                { "last", value_bool(i == n - 1) },
                { "length", value_int(n) },
                { "depth", value_int(1) },
                { "depth0", value_int(0) },
                { "previtem", loop_neighbour(l, i - 1) },
                { "nextitem", loop_neighbour(l, i + 1) } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        if (str_is(name, row[k].name)) return row[k].value;
    return value_undefined(name);
}

static Error *entry_of(Value map, Str key, Value *out)
{
    const Value *found = value_map_get(map, key);
    *out = found ? *found : value_undefined(key);
    return NULL;
}

Error *value_attribute(Run *r, Value v, Str name, Value *out)
{
    (void)r;
    if (v.kind == VALUE_UNDEFINED)
        return error_new("'%.*s' is undefined, so it has no '%.*s'", (int)v.text.len, v.text.ptr,
                         (int)name.len, name.ptr);
    FunctionKind methods = methods_of(v.kind);
    if (methods < N_FUNCTION_KINDS && function_find(methods, name))
        return error_new("'%.*s' is a method of %s: call it, or write ['%.*s'] for an entry",
                         (int)name.len, name.ptr, value_kind_name(v), (int)name.len, name.ptr);
    if (v.kind == VALUE_MAP || v.kind == VALUE_NAMESPACE) return entry_of(v, name, out);
    *out = v.kind == VALUE_LOOP ? loop_attribute(v.loop, name) : value_undefined(name);
    return NULL;
}

/* From the end when negative; -1 when outside. */
static int64_t place_in(int64_t i, int64_t n)
{
    if (i < 0) i += n;
    return i >= 0 && i < n ? i : -1;
}

static Value character_at(Str s, int64_t i)
{
    size_t from = characters_offset(s, i), to = characters_offset(s, i + 1);
    return value_text((Str){ s.ptr + from, to - from });
}

Error *value_item(Run *r, Value v, Value key, Value *out)
{
    *out = value_undefined(key.kind == VALUE_TEXT ? key.text : str_of("this item"));
    bool is_index = key.kind == VALUE_INT || key.kind == VALUE_BOOL;
    int64_t i = !is_index ? 0 : key.kind == VALUE_BOOL ? key.boolean : key.integer;
    switch (v.kind) {
    case VALUE_UNDEFINED:
        return value_attribute(r, v, out->text, out);
    case VALUE_MAP:
    case VALUE_NAMESPACE:
        return key.kind == VALUE_TEXT ? entry_of(v, key.text, out) : NULL;
    case VALUE_LIST:
    case VALUE_TUPLE:
        i = is_index ? place_in(i, v.list->n) : -1;
        if (i >= 0) *out = v.list->item[i];
        return NULL;
    case VALUE_TEXT:
        TRY(meter_spend(&r->meter, (int64_t)v.text.len));
        i = is_index ? place_in(i, characters_count(v.text)) : -1;
        if (i >= 0) *out = character_at(v.text, i);
        return NULL;
    default:
        return key.kind == VALUE_TEXT ? value_attribute(r, v, key.text, out) : NULL;
    }
}

/* ---- slices ---- */

/* A bound of a slice inside [low, high]. */
static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
    if (i < 0) i += n;
    return i < low ? low : i > high ? high : i;
}

static Error *slice_part(Run *r, const Node *n, int64_t part, bool *is_given, int64_t *out)
{
    const Node *node = part < n->arguments.n ? n->arguments.item[part].node : NULL;
    Value v = value_none();
    if (node) TRY(evaluate_node(r, node, &v));
    *is_given = v.kind != VALUE_NONE;
    if (!*is_given) return NULL;
    if (v.kind != VALUE_INT)
        return error_new("a slice has %s where an integer is needed", value_kind_name(v));
    /* far outside is outside, and sums with it stay in range */
    const int64_t far = INT64_C(1) << 40;
    *out = v.integer > far ? far : v.integer < -far ? -far : v.integer;
    return NULL;
}

static Error *slice_list(Run *r, Value v, int64_t from, int64_t to, int64_t step, Value *out)
{
    int64_t span = step > 0 ? to - from : from - to, size = step > 0 ? step : -step;
    int64_t n = span > 0 ? (span - 1) / size + 1 : 0;
    Value *item;
    TRY(new_list(r, v.kind, n, &item, out));
    for (int64_t i = 0; i < n; i++) item[i] = v.list->item[from + i * step];
    return NULL;
}

static Error *join_characters(Run *r, Value list, Value *out)
{
    Text t = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < list.list->n; i++)
        e = meter_add(&r->meter, &t, list.list->item[i].text);
    return finish_text(r, &t, e, out);
}

static Error *slice(Run *r, const Node *n, Value *out)
{
    Value v, characters;
    int64_t from = 0, to = 0, step = 1;
    bool has_from, has_to, has_step;
    TRY(evaluate_node(r, n->left, &v));
    TRY(slice_part(r, n, 0, &has_from, &from));
    TRY(slice_part(r, n, 1, &has_to, &to));
    TRY(slice_part(r, n, 2, &has_step, &step));
    if (v.kind != VALUE_TEXT && v.kind != VALUE_LIST && v.kind != VALUE_TUPLE)
        return error_new("%s cannot be cut into slices", value_kind_name(v));
    if (!step) return error_new("the step of a slice is 0");
    bool is_text = v.kind == VALUE_TEXT;
    if (is_text) TRY(characters_of(r, v.text, &characters));
    if (!is_text) characters = v;
    int64_t size = characters.list->n, low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    from = has_from ? clamp(from, size, low, high) : step > 0 ? low : high;
    to = has_to ? clamp(to, size, low, high) : step > 0 ? high : low;
    TRY(slice_list(r, characters, from, to, step, out));
    return is_text ? join_characters(r, *out, out) : NULL;
}

/* ---- calls ---- */

static Error *evaluate_arguments(Run *r, const Arguments *a, Call *c)
{
    Value *value, list;
    TRY(new_list(r, VALUE_LIST, a->n, &value, &list));
    const char **name = a->n ? NEW_N(r->arena, const char *, a->n) : NULL;
    for (int64_t i = 0; i < a->n; i++) {
        TRY(evaluate_node(r, a->item[i].node, &value[i]));
        name[i] = a->item[i].name;
    }
    c->value = value;
    c->name = name;
    c->n = a->n;
    return NULL;
}

static Error *call_value(Run *r, Value callee, Call *c, Value *out)
{
    if (callee.kind == VALUE_MACRO) return call_macro(r, callee.macro, c, out);
    if (callee.kind == VALUE_FUNCTION) return function_call(r, callee.builtin, c, out);
    if (callee.kind == VALUE_UNDEFINED)
        return error_new("'%.*s' is undefined, so it cannot be called", (int)callee.text.len,
                         callee.text.ptr);
    return error_new("%s cannot be called", value_kind_name(callee));
}

/* object.name(...): a method of its kind, or an entry that can be called. */
static Error *call_attribute(Run *r, const Node *n, Value *out)
{
    Call c = { 0 };
    Value callee;
    Str name = str_of(n->left->name);
    TRY(evaluate_node(r, n->left->left, &c.self));
    FunctionKind methods = methods_of(c.self.kind);
    const Function *f = methods < N_FUNCTION_KINDS ? function_find(methods, name) : NULL;
    if (!f) TRY(value_attribute(r, c.self, name, &callee));
    if (!f && methods < N_FUNCTION_KINDS && callee.kind == VALUE_UNDEFINED)
        return function_unknown(methods, name);
    TRY(evaluate_arguments(r, &n->arguments, &c));
    return f ? function_call(r, f, &c, out) : call_value(r, callee, &c, out);
}

static Error *call(Run *r, const Node *n, Value *out)
{
    Call c = { 0 };
    Value callee;
    if (n->left->kind == NODE_ATTRIBUTE) return call_attribute(r, n, out);
    TRY(evaluate_node(r, n->left, &callee));
    TRY(evaluate_arguments(r, &n->arguments, &c));
    return call_value(r, callee, &c, out);
}

static Error *apply(Run *r, const Node *n, Value *out)
{
    Call c = { 0 };
    TRY(evaluate_node(r, n->left, &c.self));
    TRY(evaluate_arguments(r, &n->arguments, &c));
    return function_call(r, n->function, &c, out);
}

/* ---- the other kinds of nodes ---- */

static Error *look_up(Run *r, const Node *n, Value *out)
{
    for (const Scope *s = r->scope; s; s = s->around) {
        for (int64_t i = 0; i < s->n; i++) {
            if (s->item[i].name != n->name) continue;
            *out = s->item[i].value;
            return NULL;
        }
        TRY(meter_spend(&r->meter, s->n));
    }
    *out = n->function ? (Value){ .kind = VALUE_FUNCTION, .builtin = n->function }
                       : value_undefined(str_of(n->name));
    return NULL;
}

static Error *make_list(Run *r, const Node *n, Value *out)
{
    Value *item;
    TRY(new_list(r, n->kind == NODE_TUPLE ? VALUE_TUPLE : VALUE_LIST, n->arguments.n, &item, out));
    for (int64_t i = 0; i < n->arguments.n; i++)
        TRY(evaluate_node(r, n->arguments.item[i].node, &item[i]));
    return NULL;
}

static Error *make_map(Run *r, const Node *n, Value *out)
{
    *out = value_map(r->arena);
    TRY(meter_spend(&r->meter, 256 + 64 * n->arguments.n));
    for (int64_t i = 0; i < n->arguments.n; i += 2) {
        Value key, value;
        TRY(evaluate_node(r, n->arguments.item[i].node, &key));
        TRY(evaluate_node(r, n->arguments.item[i + 1].node, &value));
        if (key.kind != VALUE_TEXT)
            return error_new("a key is %s; keys are text", value_kind_name(key));
        value_map_set(*out, key.text, value);
    }
    return NULL;
}

static Error *concat(Run *r, const Node *n, Value *out)
{
    Text t = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < n->arguments.n; i++) {
        Value v;
        e = evaluate_node(r, n->arguments.item[i].node, &v);
        if (!e) e = value_print(&r->meter, v, &t);
    }
    return finish_text(r, &t, e, out);
}

/* a < b < c: each pair must hold; what comes behind the first that does not is not evaluated. */
static Error *compare_chain(Run *r, const Node *n, Value *out)
{
    Value left, right;
    bool holds = true;
    TRY(evaluate_node(r, n->left, &left));
    for (int64_t i = 0; holds && i < n->arguments.n; i++) {
        TRY(evaluate_node(r, n->arguments.item[i].node, &right));
        TRY(compare_values(r, n->arguments.item[i].sign, left, right, &holds));
        left = right;
    }
    *out = value_bool(holds);
    return NULL;
}

static Error *change_sign(const Node *n, Value v, Value *out)
{
    if (!value_is_number(v)) return error_new("%s has no sign", value_kind_name(v));
    bool is_minus = n->kind == NODE_NEGATE;
    *out = v;
    if (v.kind == VALUE_FLOAT) {
        out->number = is_minus ? -v.number : v.number;
        return NULL;
    }
    int64_t i = v.kind == VALUE_BOOL ? v.boolean : v.integer;
    if (is_minus && i == INT64_MIN) return error_new("the result does not fit into 64 bits");
    *out = value_int(is_minus ? -i : i);
    return NULL;
}

static Error *choose(Run *r, const Node *n, Value *out)
{
    Value condition;
    TRY(evaluate_node(r, n->right, &condition));
    if (value_is_true(condition)) return evaluate_node(r, n->left, out);
    *out = value_undefined(str_of("the value of an 'if' without 'else'"));
    return n->third ? evaluate_node(r, n->third, out) : NULL;
}

static Error *evaluate_kind(Run *r, const Node *n, Value *out)
{
    Value x, y;
    switch (n->kind) {
    case NODE_VALUE:
        *out = n->value;
        return NULL;
    case NODE_BODY_TEXT:
        *out = r->body_text;
        return NULL;
    case NODE_NAME:
        return look_up(r, n, out);
    case NODE_LIST:
    case NODE_TUPLE:
        return make_list(r, n, out);
    case NODE_MAP:
        return make_map(r, n, out);
    case NODE_SLICE:
        return slice(r, n, out);
    case NODE_CALL:
        return call(r, n, out);
    case NODE_FILTER:
    case NODE_TEST:
        return apply(r, n, out);
    case NODE_CHOICE:
        return choose(r, n, out);
    case NODE_CONCAT:
        return concat(r, n, out);
    case NODE_COMPARE:
        return compare_chain(r, n, out);
    default:
        break;
    }
    TRY(evaluate_node(r, n->left, &x));
    switch (n->kind) {
    case NODE_ATTRIBUTE:
        return value_attribute(r, x, str_of(n->name), out);
    case NODE_NOT:
        *out = value_bool(!value_is_true(x));
        return NULL;
    case NODE_NEGATE:
    case NODE_PLUS:
        return change_sign(n, x, out);
    case NODE_AND:
    case NODE_OR:
        *out = x;
        return value_is_true(x) == (n->kind == NODE_AND) ? evaluate_node(r, n->right, out) : NULL;
    default:
        break;
    }
    TRY(evaluate_node(r, n->right, &y));
    if (n->kind == NODE_ITEM) return value_item(r, x, y, out);
    CHECK(n->kind == NODE_COMPUTE);
    return compute_values(r, n->sign, x, y, out);
}

Error *evaluate_node(Run *r, const Node *n, Value *out)
{
    *out = value_none();
    Error *e = meter_enter(&r->meter);
    if (!e) e = evaluate_kind(r, n, out);
    meter_leave(&r->meter);
    if (!e || r->has_place) return e;
    r->has_place = true; /* the innermost place is the one that helps */
    return template_fault(n->line, n->column, e);
}
