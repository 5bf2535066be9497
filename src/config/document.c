/* document.c - help texts and the reference page of components. */
#include "config/document.h"
#include "config/field_read.h"
#include <ctype.h>
#include <string.h>

static void indent_by(int depth, Text *out)
{
    for (int i = 0; i < depth; i++) text_puts(out, "  ");
}

static const char *default_of(const Field *f)
{
    return f->fallback ? f->fallback : "required";
}

static void put_field(const Field *f, DocumentForm form, const char *above, int depth, Text *out);

/* The tables inside a row: of a struct, of the items of a list or map, of the alternatives of a
 * union. */
static void put_nested(const Field *f, DocumentForm form, const char *path, int depth, Text *out)
{
    if (f->type == FIELD_STRUCT) {
        for (const Field *g = f->fields; g->type != FIELD_END; g++)
            put_field(g, form, path, depth, out);
    } else if (f->type == FIELD_LIST || f->type == FIELD_MAP) {
        Text below = { 0 };
        text_printf(&below, "%s%s", path, f->type == FIELD_LIST ? "[]" : ".*");
        put_nested(f->fields, form, below.ptr, depth, out);
        text_free(&below);
    } else if (f->type == FIELD_UNION) {
        for (const Field *g = f->fields; g->type != FIELD_END; g++)
            put_nested(g, form, path, depth, out);
    }
}

static void put_field(const Field *f, DocumentForm form, const char *above, int depth, Text *out)
{
    Text allowed = { 0 }, path = { 0 };
    field_allowed(f, &allowed);
    text_printf(&path, "%s%s%s", above, *above ? "." : "", f->name);
    if (form == DOCUMENT_MARKDOWN) {
        text_printf(out, "| `%s`", path.ptr);
        if (f->alias) text_printf(out, " (or `%s`)", f->alias);
        text_printf(out, " | %s | %s%s%s | %s", allowed.ptr, f->fallback ? "`" : "", default_of(f),
                    f->fallback ? "`" : "", f->doc);
        if (f->no_effect) text_printf(out, " (*no effect*: %s)", f->no_effect);
        if (f->no_effect_alone)
            text_printf(out, " (*no effect on one rank*: %s)", f->no_effect_alone);
        text_puts(out, " |\n");
    } else {
        indent_by(depth, out);
        text_printf(out, "%s: %s", f->name, allowed.ptr);
        if (f->fallback)
            text_printf(out, " [default: %s]", f->fallback);
        else
            text_puts(out, " [required]");
        if (f->alias) text_printf(out, " [also: %s]", f->alias);
        text_putc(out, '\n');
        indent_by(depth + 2, out);
        text_printf(out, "%s\n", f->doc);
        if (f->no_effect) {
            indent_by(depth + 2, out);
            text_printf(out, "no effect: %s\n", f->no_effect);
        }
        if (f->no_effect_alone) {
            indent_by(depth + 2, out);
            text_printf(out, "no effect on one rank: %s\n", f->no_effect_alone);
        }
    }
    put_nested(f, form, path.ptr, depth + 1, out);
    text_free(&allowed);
    text_free(&path);
}

void document_fields(const Field *fields, DocumentForm form, Text *out)
{
    for (const Field *f = fields; f && f->type != FIELD_END; f++) put_field(f, form, "", 1, out);
}

/* A value that shows the form of a required setting. */
static void put_example_value(const Field *f, Text *out)
{
    switch (f->type) {
    case FIELD_BOOL:
        text_puts(out, f->choices ? f->choices[0] : "false");
        return;
    case FIELD_INT:
        text_printf(out, "%.0f", f->min < f->max && f->min > 1 ? f->min : 1);
        return;
    case FIELD_FLOAT:
        text_puts(out, "0.1");
        return;
    case FIELD_CHOICE:
        text_add(out, f->choices[0], strcspn(f->choices[0], "|"));
        return;
    case FIELD_PATH:
        text_puts(out, "PATH");
        return;
    case FIELD_STRUCT:
        text_puts(out, "{ }");
        return;
    case FIELD_LIST:
        text_putc(out, '[');
        for (int i = 0; i < (f->min > 0 ? f->min : 0); i++) {
            text_puts(out, i ? ", " : "");
            put_example_value(f->fields, out);
        }
        text_putc(out, ']');
        return;
    case FIELD_MAP:
        text_puts(out, "{}");
        return;
    case FIELD_UNION:
        put_example_value(f->fields, out);
        return;
    case FIELD_COMPONENT:
        text_printf(out, "{ instance_key: %s, pass_type: BY_REFERENCE }",
                    f->kind ? f->kind : "NAME");
        return;
    default:
        text_puts(out, "TEXT");
        return;
    }
}

static void put_example(const ComponentDef *def, Text *out)
{
    text_printf(out, "%s:\n  component_key: %s\n  variant_key: %s\n  config:", def->kind, def->kind,
                def->variant);
    int n_required = 0;
    for (const Field *f = def->fields; f && f->type != FIELD_END; f++) {
        if (f->fallback) continue;
        n_required++;
        text_printf(out, "\n    %s: ", f->name);
        put_example_value(f, out);
    }
    text_puts(out, n_required ? "\n" : " {}\n");
}

void document_component(const ComponentDef *def, DocumentForm form, Text *out)
{
    bool is_markdown = form == DOCUMENT_MARKDOWN;
    bool has_fields = def->fields && def->fields->type != FIELD_END;
    text_printf(out, is_markdown ? "### %s.%s\n\n" : "%s.%s - ", def->kind, def->variant);
    text_putc(out, (char)toupper((unsigned char)*def->doc));
    text_puts(out, def->doc + 1);
    if (def->also) text_printf(out, is_markdown ? " (also `%s`)" : " (also %s)", def->also);
    text_puts(out, ".\n\n");
    if (has_fields && is_markdown)
        text_puts(out, "| setting | allowed | default | meaning |\n|---|---|---|---|\n");
    document_fields(def->fields, form, out);
    if (!has_fields) text_puts(out, is_markdown ? "No settings.\n" : "  no settings\n");
    text_putc(out, '\n');
    if (is_markdown) return;
    text_puts(out, "In the YAML:\n\n");
    put_example(def, out);
}

bool document_list(const Registry *r, const char *kind, Text *out)
{
    bool has_any = false;
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        if (kind && strcmp(kind, d->kind)) continue;
        Text name = { 0 };
        text_printf(&name, "%s.%s", d->kind, d->variant);
        text_printf(out, "%-50s %s\n", name.ptr, d->doc);
        text_free(&name);
        has_any = true;
    }
    return has_any;
}

void document_page(const Registry *r, Text *out)
{
    text_puts(out,
              "# Components\n\n"
              "Generated by `modalities docs components` from the tables that also check the YAML. "
              "`modalities help component KIND.VARIANT` shows one of them.\n\n"
              "*no effect* marks a setting that is accepted although every value of it gives the "
              "same results on one rank of the CPU, and says why.\n");
    const char *kind = "";
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        if (strcmp(kind, d->kind)) text_printf(out, "%s## %s\n\n", *kind ? "" : "\n", d->kind);
        kind = d->kind;
        document_component(d, DOCUMENT_MARKDOWN, out);
    }
}
