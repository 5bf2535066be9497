/* schema.c - a JSON schema (draft 2020-12) of configuration files, for completion and checks in
 * editors.
 *
 * Interpolations stand anywhere as text, so every value may also be a text with "${" in it. */
#include "base/json.h"
#include "config/document.h"
#include "config/field_read.h"
#include <string.h>

static void put_field(const Field *f, Text *out);

static void put_text(Text *out, const char *s)
{
    text_json_string(out, str_of(s));
}

static void put_bounds(const Field *f, Text *out)
{
    if (!(f->min < f->max)) return;
    if (f->min > -INFINITY)
        text_printf(out, ", \"%s\": %g", f->flags & FIELD_OPEN_MIN ? "exclusiveMinimum" : "minimum",
                    f->min);
    if (f->max < INFINITY)
        text_printf(out, ", \"%s\": %g", f->flags & FIELD_OPEN_MAX ? "exclusiveMaximum" : "maximum",
                    f->max);
}

static void put_choices(const Field *f, Text *out)
{
    const char *separator = "\"enum\": [";
    for (int i = 0; f->choices[i]; i++) {
        const char *bar = strchr(f->choices[i], '|');
        text_puts(out, separator);
        text_json_string(out, (Str){ f->choices[i], strcspn(f->choices[i], "|") });
        separator = ", ";
        if (!bar) continue;
        text_puts(out, separator);
        put_text(out, bar + 1);
    }
    text_putc(out, ']');
}

/* The members of an object schema, without its braces. */
static void put_object(const Field *fields, bool is_open, Text *out)
{
    const char *separator = "";
    text_puts(out, "\"type\": \"object\", \"properties\": {");
    for (const Field *f = fields; f && f->type != FIELD_END; f++) {
        const char *const names[] = { f->name, f->alias };
        for (int i = 0; i < 2 && names[i]; i++) {
            text_puts(out, separator);
            put_text(out, names[i]);
            text_puts(out, ": ");
            put_field(f, out);
            separator = ", ";
        }
    }
    text_puts(out, "}, \"required\": [");
    separator = "";
    for (const Field *f = fields; f && f->type != FIELD_END; f++) {
        if (f->fallback || f->alias) continue;
        text_puts(out, separator);
        put_text(out, f->name);
        separator = ", ";
    }
    text_printf(out, "], \"additionalProperties\": %s", is_open ? "true" : "false");
}

static void put_list(const Field *f, Text *out)
{
    text_puts(out, "\"type\": \"array\", \"items\": ");
    put_field(f->fields, out);
    bool is_bounded = f->min < f->max || f->min == f->max;
    if (is_bounded && f->min > 0) text_printf(out, ", \"minItems\": %g", f->min);
    if (is_bounded && f->max > 0 && f->max < INFINITY)
        text_printf(out, ", \"maxItems\": %g", f->max);
}

static void put_alternatives(const Field *f, Text *out)
{
    text_puts(out, "\"anyOf\": [");
    for (const Field *g = f->fields; g->type != FIELD_END; g++) {
        text_puts(out, g == f->fields ? "" : ", ");
        put_field(g, out);
    }
    text_putc(out, ']');
}

static void put_type(const Field *f, Text *out)
{
    switch (f->type) {
    case FIELD_BOOL:
        text_puts(out, "\"type\": \"boolean\"");
        return;
    case FIELD_INT:
    case FIELD_FLOAT:
        text_printf(out, "\"type\": \"%s\"", f->type == FIELD_INT ? "integer" : "number");
        put_bounds(f, out);
        return;
    case FIELD_STRING:
    case FIELD_PATH:
        text_puts(out, "\"type\": \"string\"");
        return;
    case FIELD_STRUCT:
        put_object(f->fields, f->flags & FIELD_IGNORE_OTHERS, out);
        return;
    case FIELD_UNION:
        put_alternatives(f, out);
        return;
    case FIELD_LIST:
        put_list(f, out);
        return;
    case FIELD_MAP:
        text_puts(out, "\"type\": \"object\", \"additionalProperties\": ");
        put_field(f->fields, out);
        return;
    default:
        return;
    }
}

/* Components, references and interpolations may stand for nearly everything. */
static void put_field(const Field *f, Text *out)
{
    text_puts(out, "{");
    if (f->doc) {
        text_puts(out, "\"description\": ");
        put_text(out, f->doc);
        text_puts(out, ", ");
    }
    if (f->type == FIELD_ANY) {
        text_puts(out, "\"not\": false}");
        return;
    }
    text_puts(out, "\"anyOf\": [{\"$ref\": \"#/$defs/from_elsewhere\"}");
    if (f->type != FIELD_COMPONENT) {
        text_puts(out, ", {");
        if (f->choices && f->type != FIELD_BOOL)
            put_choices(f, out);
        else
            put_type(f, out);
        text_putc(out, '}');
    }
    if (f->type == FIELD_LIST && f->flags & FIELD_LIST_OR_ONE) {
        text_puts(out, ", ");
        put_field(f->fields, out);
    }
    if (f->type == FIELD_COMPONENT && f->flags & FIELD_MAPS)
        text_puts(out,
                  ", {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/from_elsewhere\"}}");
    if (f->is_pointer || f->flags & FIELD_NULLABLE || (f->fallback && !strcmp(f->fallback, "null")))
        text_puts(out, ", {\"type\": \"null\"}");
    text_puts(out, "]}");
}

/* if kind and variant are these, then config is that. */
static void put_rule(const ComponentDef *d, const char *variant, Text *out)
{
    text_printf(out,
                "{\"if\": {\"properties\": {\"component_key\": {\"const\": \"%s\"}, "
                "\"variant_key\": {\"const\": \"%s\"}}}, "
                "\"then\": {\"description\": ",
                d->kind, variant);
    put_text(out, d->doc);
    text_puts(out, ", \"properties\": {\"config\": {");
    put_object(d->fields, false, out);
    text_puts(out, "}}}}");
}

void document_schema(const Registry *r, Text *out)
{
    text_puts(out, "{\n\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                   "\"title\": \"modalities configuration\",\n"
                   "\"type\": \"object\",\n\"additionalProperties\": {\"$ref\": "
                   "\"#/$defs/value\"},\n\"$defs\": {\n"
                   "\"interpolation\": {\"type\": \"string\", \"pattern\": \"\\\\$\\\\{\"},\n"
                   "\"reference\": {\"type\": \"object\", \"properties\": {\"instance_key\": "
                   "{\"type\": \"string\"}, \"pass_type\": "
                   "{\"type\": \"string\"}}, \"required\": [\"instance_key\", \"pass_type\"], "
                   "\"additionalProperties\": false},\n"
                   "\"from_elsewhere\": {\"anyOf\": [{\"$ref\": \"#/$defs/interpolation\"}, "
                   "{\"$ref\": \"#/$defs/reference\"}, "
                   "{\"$ref\": \"#/$defs/component\"}]},\n"
                   "\"value\": {\"if\": {\"type\": \"object\", \"required\": [\"component_key\"]}, "
                   "\"then\": {\"$ref\": "
                   "\"#/$defs/component\"}, "
                   "\"else\": {\"if\": {\"type\": \"array\"}, \"then\": {\"items\": {\"$ref\": "
                   "\"#/$defs/value\"}}, "
                   "\"else\": {\"if\": {\"type\": \"object\"}, \"then\": "
                   "{\"additionalProperties\": {\"$ref\": \"#/$defs/value\"}}}}},\n"
                   "\"component\": {\"type\": \"object\", \"required\": [\"component_key\", "
                   "\"variant_key\", \"config\"], "
                   "\"allOf\": [\n");
    const char *separator = "";
    for (int64_t i = 0; i < registry_count(r); i++) {
        const ComponentDef *d = registry_at(r, i);
        const char *const names[] = { d->variant, d->also };
        for (int k = 0; k < 2 && names[k]; k++) {
            text_puts(out, separator);
            put_rule(d, names[k], out);
            separator = ",\n";
        }
    }
    text_puts(out, "\n]}\n}\n}\n");
}
