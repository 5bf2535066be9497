/* parse_statement.c - statements: text, {{ prints }} and {% tags %}. */
#include "template/evaluate.h"
#include "template/parser.h"
#include <string.h>

static Error *end_tag(Parser *p)
{
    if (p->at->kind != TOKEN_CLOSE_TAG) return parse_unexpected(p, "'%}'");
    p->at++;
    return NULL;
}

/* At "{%" and one of these words? */
static bool at_tag(const Parser *p, const char *const *words)
{
    if (p->at->kind != TOKEN_OPEN_TAG) return false;
    for (; *words; words++)
        if (p->at[1].kind == TOKEN_NAME && str_is(p->at[1].text, *words)) return true;
    return false;
}

/* Takes "{% word" if it is next. */
static bool take_if_tag(Parser *p, const char *word)
{
    bool is = at_tag(p, (const char *const[]){ word, NULL });
    p->at += is ? 2 : 0;
    return is;
}

/* "{% word %}" */
static Error *take_tag(Parser *p, const char *word)
{
    CHECK(take_if_tag(p, word));
    return end_tag(p);
}

static Error *parse_targets(Parser *p, bool with_entries, Targets *out)
{
    bool has_bracket = take_if_sign(p, "(");
    do {
        if (out->n && (at_word(p, "in") || at_sign(p, "=") || at_sign(p, ")"))) break;
        Target t = { .line = p->at->line, .column = p->at->column };
        TRY(expect_name(p, "a name", &t.name));
        if (with_entries && take_if_sign(p, "."))
            TRY(expect_name(p, "the name of an entry", &t.entry));
        out->item = arena_grow(p->arena, out->item, out->n, &out->cap, sizeof *out->item);
        out->item[out->n++] = t;
        if (at_sign(p, ",")) out->is_tuple = true;
    } while (take_if_sign(p, ","));
    return has_bracket ? expect_sign(p, ")") : NULL;
}

static Error *parse_if(Parser *p, const Node **out)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    Node *n = new_node(p, NODE_IF);
    *out = n;
    for (;;) {
        TRY(parse_tuple(p, false, &n->left));
        TRY(end_tag(p));
        TRY(parse_body(p, ends, &n->body));
        if (!take_if_tag(p, "elif")) break;
        Node *next = new_node(p, NODE_IF);
        const Node **only = NEW(p->arena, const Node *);
        *only = next;
        n->otherwise = (Body){ only, 1, 1 };
        n = next;
    }
    if (take_if_tag(p, "else")) {
        TRY(end_tag(p));
        TRY(parse_body(p, (const char *const[]){ "endif", NULL }, &n->otherwise));
    }
    return take_tag(p, "endif");
}

static Error *parse_for(Parser *p, const Node **out)
{
    static const char *const ends[] = { "else", "endfor", NULL };
    Node *n = new_node(p, NODE_FOR);
    *out = n;
    TRY(parse_targets(p, false, &n->targets));
    if (!take_if_word(p, "in")) return parse_unexpected(p, "'in'");
    TRY(parse_tuple(p, false, &n->left));
    if (take_if_word(p, "if")) TRY(parse_expression(p, &n->right));
    if (at_word(p, "recursive"))
        return parse_fault(p, error_new("'recursive' is not supported: use a macro that calls "
                                        "itself"));
    TRY(end_tag(p));
    p->n_loops++;
    TRY(parse_body(p, ends, &n->body));
    p->n_loops--;
    if (take_if_tag(p, "else")) {
        TRY(end_tag(p));
        TRY(parse_body(p, (const char *const[]){ "endfor", NULL }, &n->otherwise));
    }
    return take_tag(p, "endfor");
}

/* Not inside: break and continue stay within their body. */
static Error *parse_own_body(Parser *p, const char *end, Body *out)
{
    int n_loops = p->n_loops;
    p->n_loops = 0;
    TRY(end_tag(p));
    TRY(parse_body(p, (const char *const[]){ end, NULL }, out));
    p->n_loops = n_loops;
    return take_tag(p, end);
}

static Error *parse_set(Parser *p, const Node **out)
{
    Node *n = new_node(p, NODE_SET);
    *out = n;
    TRY(parse_targets(p, true, &n->targets));
    if (take_if_sign(p, "=")) {
        TRY(parse_tuple(p, true, &n->left));
        return end_tag(p);
    }
    if (n->targets.is_tuple) return parse_unexpected(p, "'='");
    n->kind = NODE_SET_BLOCK;
    TRY(parse_filters(p, new_node(p, NODE_BODY_TEXT), &n->left));
    return parse_own_body(p, "endset", &n->body);
}

static Error *parse_parameters(Parser *p, Arguments *out)
{
    TRY(expect_sign(p, "("));
    while (!take_if_sign(p, ")")) {
        const char *name;
        const Node *fallback = NULL;
        if (out->n) TRY(expect_sign(p, ","));
        if (out->n && take_if_sign(p, ")")) break;
        const Token *at = p->at;
        TRY(expect_name(p, "the name of a parameter", &name));
        for (int64_t i = 0; i < out->n; i++)
            if (out->item[i].name == name)
                return parse_fault_at(at, error_new("parameter '%s' occurs twice", name));
        if (take_if_sign(p, "="))
            TRY(parse_expression(p, &fallback));
        else if (out->n && out->item[out->n - 1].node)
            return parse_fault_at(at, error_new("a parameter without default after one with a "
                                                "default"));
        if (out->n == MOST_PARAMETERS)
            return parse_fault_at(at,
                                  error_new("a macro has at most %d parameters", MOST_PARAMETERS));
        add_argument(p, out, name, fallback, 0);
    }
    return NULL;
}

static Error *parse_macro(Parser *p, const Node **out)
{
    Node *n = new_node(p, NODE_MACRO);
    *out = n;
    TRY(expect_name(p, "the name of the macro", &n->name));
    TRY(parse_parameters(p, &n->arguments));
    bool was_macro = p->is_macro;
    p->is_macro = true;
    TRY(parse_own_body(p, "endmacro", &n->body));
    p->is_macro = was_macro;
    return NULL;
}

/* {% generation %} marks what a model has said; the text is the same with and without. */
static Error *parse_generation(Parser *p, const Node **out)
{
    Node *n = new_node(p, NODE_SCOPE);
    *out = n;
    TRY(end_tag(p));
    TRY(parse_body(p, (const char *const[]){ "endgeneration", NULL }, &n->body));
    return take_tag(p, "endgeneration");
}

static Error *parse_jump(Parser *p, NodeKind kind, const Node **out)
{
    *out = new_node(p, kind);
    if (!p->n_loops)
        return parse_fault_at(p->at - 1, error_new("'%s' outside of a loop",
                                                   kind == NODE_BREAK ? "break" : "continue"));
    return end_tag(p);
}

static Error *parse_break(Parser *p, const Node **out)
{
    return parse_jump(p, NODE_BREAK, out);
}

static Error *parse_continue(Parser *p, const Node **out)
{
    return parse_jump(p, NODE_CONTINUE, out);
}

static Error *parse_tag(Parser *p, const Node **out)
{
    static const struct {
        const char *word;
        Error *(*parse)(Parser *p, const Node **out);
    } tag[] = { { "if", parse_if },
                { "for", parse_for },
                { "set", parse_set },
                { "macro", parse_macro },
                { "break", parse_break },
                { "continue", parse_continue },
                { "generation", parse_generation } };
    const Token *word = p->at;
    if (word->kind != TOKEN_NAME) return parse_unexpected(p, "the name of a tag");
    for (size_t i = 0; i < sizeof tag / sizeof *tag; i++) {
        if (!str_is(word->text, tag[i].word)) continue;
        p->at++;
        return tag[i].parse(p, out);
    }
    return parse_fault(p, error_new("the tag '%.*s' is not supported here; allowed are if, elif, "
                                    "else, for, set, macro, break, continue, generation, raw and "
                                    "their ends",
                                    (int)word->text.len, word->text.ptr));
}

static Error *parse_statement(Parser *p, const Node **out)
{
    if (p->at->kind == TOKEN_DATA) {
        Node *n = new_node(p, NODE_TEXT);
        n->value = value_text(p->at++->text);
        *out = n;
        return NULL;
    }
    TokenKind opened = p->at->kind;
    Node *print = new_node(p, NODE_PRINT);
    p->at++;
    if (opened == TOKEN_OPEN_TAG) return parse_tag(p, out);
    TRY(parse_tuple(p, true, &print->left));
    *out = print;
    if (p->at->kind != TOKEN_CLOSE_PRINT) return parse_unexpected(p, "'}}' or an operator");
    p->at++;
    return NULL;
}

Error *parse_body(Parser *p, const char *const *ends, Body *out)
{
    TRY(parse_enter(p));
    while (p->at->kind != TOKEN_END) {
        const Node *statement = NULL;
        if (ends && at_tag(p, ends)) break;
        TRY(parse_statement(p, &statement));
        out->item = arena_grow(p->arena, out->item, out->n, &out->cap, sizeof *out->item);
        out->item[out->n++] = statement;
    }
    p->depth--;
    if (!ends || p->at->kind != TOKEN_END) return NULL;
    Text expected = { 0 };
    for (int i = 0; ends[i]; i++) text_printf(&expected, "%s{%% %s %%}", i ? " or " : "", ends[i]);
    Error *e = parse_unexpected(p, expected.ptr);
    text_free(&expected);
    return e;
}

Error *template_parse(Arena *a, Str source, bool joins_tags, Template **out)
{
    Tokens tokens;
    TRY(template_tokens(a, source, joins_tags, &tokens));
    Template *t = NEW(a, Template);
    t->names = map_new(a);
    Parser p = { .arena = a, .at = tokens.item, .names = t->names };
    TRY(parse_body(&p, NULL, &t->body));
    *out = t;
    return NULL;
}
