/* test_functions.c - what can be asked with "is". */
#include "template/characters.h"
#include "template/function.h"
#include <math.h>

static Error *answer(bool yes, TemplateValue *out)
{
    *out = value_bool(yes);
    return NULL;
}

static Error *is_defined(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind != TEMPLATE_UNDEFINED, out);
}

static Error *is_undefined(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_UNDEFINED, out);
}

static Error *is_none(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_NONE, out);
}

static Error *is_boolean(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_BOOL, out);
}

static Error *is_true(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_BOOL && c->self.boolean, out);
}

static Error *is_false(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_BOOL && !c->self.boolean, out);
}

static Error *is_integer(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_INT || c->self.kind == TEMPLATE_BIG, out);
}

static Error *is_float(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_FLOAT, out);
}

static Error *is_number(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(value_is_number(c->self) || c->self.kind == TEMPLATE_BIG, out);
}

static Error *is_string(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_TEXT, out);
}

static Error *is_mapping(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_MAP, out);
}

/* Undefined is an empty sequence, as in Jinja. */
static Error *is_sequence(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    TemplateKind k = c->self.kind;
    return answer(k == TEMPLATE_TEXT || k == TEMPLATE_LIST || k == TEMPLATE_TUPLE ||
                      k == TEMPLATE_MAP || k == TEMPLATE_UNDEFINED,
                  out);
}

static Error *is_iterable(Run *r, const Call *c, TemplateValue *out)
{
    TRY(is_sequence(r, c, out));
    return answer(out->boolean || c->self.kind == TEMPLATE_GENERATOR, out);
}

static Error *is_callable(Run *r, const Call *c, TemplateValue *out)
{
    (void)r;
    return answer(c->self.kind == TEMPLATE_MACRO || c->self.kind == TEMPLATE_FUNCTION, out);
}

static Error *remainder_of(Run *r, const Call *c, TemplateValue by, bool is_zero,
                           TemplateValue *out)
{
    bool equal;
    TRY(compute_values(r, SIGN_REMAINDER, c->self, by, out));
    TRY(value_equal(&r->meter, *out, value_int(is_zero ? 0 : 1), &equal));
    return answer(equal, out);
}

static Error *is_even(Run *r, const Call *c, TemplateValue *out)
{
    return remainder_of(r, c, value_int(2), true, out);
}

static Error *is_odd(Run *r, const Call *c, TemplateValue *out)
{
    return remainder_of(r, c, value_int(2), false, out);
}

static Error *is_divisible(Run *r, const Call *c, TemplateValue *out)
{
    return remainder_of(r, c, c->arg[0], true, out);
}

static Error *is_compared(Run *r, const Call *c, Sign sign, TemplateValue *out)
{
    bool holds;
    TRY(compare_values(r, sign, c->self, c->arg[0], &holds));
    return answer(holds, out);
}

static Error *is_equal(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_EQUAL, out);
}

static Error *is_unequal(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_UNEQUAL, out);
}

static Error *is_less(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_LESS, out);
}

static Error *is_less_equal(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_LESS_EQUAL, out);
}

static Error *is_greater(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_GREATER, out);
}

static Error *is_greater_equal(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_GREATER_EQUAL, out);
}

static Error *is_in(Run *r, const Call *c, TemplateValue *out)
{
    return is_compared(r, c, SIGN_IN, out);
}

#define OTHER .parameters = { "other" }, .n_required = 1

const Function test_functions[] = {
    { .name = "boolean", .call = is_boolean },
    { .name = "callable", .call = is_callable },
    { .name = "defined", .call = is_defined },
    { .name = "divisibleby", .call = is_divisible, OTHER },
    { .name = "eq", .call = is_equal, OTHER },
    { .name = "equalto", .call = is_equal, OTHER },
    { .name = "even", .call = is_even },
    { .name = "false", .call = is_false },
    { .name = "float", .call = is_float },
    { .name = "ge", .call = is_greater_equal, OTHER },
    { .name = "greaterthan", .call = is_greater, OTHER },
    { .name = "gt", .call = is_greater, OTHER },
    { .name = "in", .call = is_in, OTHER },
    { .name = "integer", .call = is_integer },
    { .name = "iterable", .call = is_iterable },
    { .name = "le", .call = is_less_equal, OTHER },
    { .name = "lessthan", .call = is_less, OTHER },
    { .name = "lt", .call = is_less, OTHER },
    { .name = "mapping", .call = is_mapping },
    { .name = "ne", .call = is_unequal, OTHER },
    { .name = "none", .call = is_none },
    { .name = "number", .call = is_number },
    { .name = "odd", .call = is_odd },
    { .name = "sequence", .call = is_sequence },
    { .name = "string", .call = is_string },
    { .name = "true", .call = is_true },
    { .name = "undefined", .call = is_undefined },
    { 0 },
};
