/* config_family.c - which family of models a config.json is of. */
#include "config/field_read.h"
#include "models/hf/config_parts.h"
#include <string.h>

static bool is_known_key(const char *key)
{
    static const char *const silent[] = { "_*",
                                          "architectures",
                                          "*token_id",
                                          "*_version",
                                          "use_cache",
                                          "auto_map",
                                          "torchscript",
                                          "model_type",
                                          "id2label",
                                          "label2id",
                                          "problem_type",
                                          "initializer_range",
                                          "pretraining_tp",
                                          "return_dict",
                                          "output_*",
                                          "summary_*",
                                          "task_specific_params",
                                          NULL };
    for (int i = 0; silent[i]; i++)
        if (text_matches(silent[i], key)) return true;
    for (const HfFamily *f = hf_families; f->model_type; f++)
        if (f->dialect && f->dialect->fields && field_find(f->dialect->fields, key)) return true;
    return field_find(hf_config_fields, key) != NULL;
}

/* Names the classes that there are, and what else would be new. */
static Error *unknown_class(Arena *a, const Yaml *root, const char *type)
{
    const Yaml *classes = yaml_get(root, "architectures"), *at = yaml_get(root, "model_type");
    const char *class = classes && classes->n > 0 ? classes->item[0]->text : "of no class";
    Text known = { 0 }, options = { 0 };
    for (const HfFamily *f = hf_families; f->model_type; f++)
        text_printf(&known, "%s%s", known.len ? ", " : "", f->model_type);
    for (int64_t i = 0; i < root->n; i++)
        if (!is_known_key(root->key[i]->text))
            text_printf(&options, "%s%s", options.len ? ", " : "", root->key[i]->text);
    Error *e = error_new("%s: model_type %s (%s) is not known; known are %s%s%s%s",
                         yaml_place(a, at ? at : root), type ? type : "missing", class, known.ptr,
                         options.len ? "; of its options no known class has " : "",
                         options.len ? options.ptr : "",
                         options.len ? "" : "; each of its options is known from others");
    text_free(&known);
    text_free(&options);
    return e;
}

/* Models of images and text have the language model's options apart, some also beside their own;
 * those that speak, too, have them within the options of what thinks. */
static Error *find_part(HfReading *r, const char *whole)
{
    const Yaml *inner = yaml_get(r->root, "thinker_config"),
               *text = yaml_get(inner ? inner : r->root, "text_config"),
               *type = yaml_get(text, "model_type");
    const bool is_part = type && type->type == YAML_STRING;
    const Yaml *root = r->root;
    if (is_part) r->root = text;
    TRY(hf_take_part(r, is_part ? type->text : whole));
    if (!r->family) r->root = root;
    return NULL;
}

Error *hf_find_family(HfReading *r)
{
    const Yaml *type = yaml_get(r->root, "model_type");
    const char *name = type && type->type == YAML_STRING ? type->text : NULL;
    r->family = name ? hf_family_find(name) : NULL;
    if (!r->family) {
        TRY(find_part(r, name ? name : ""));
        return r->family ? NULL : unknown_class(r->arena, r->root, name);
    }
    const Yaml *classes = yaml_get(r->root, "architectures");
    if (!classes || classes->type != YAML_LIST || classes->n == 0) return NULL;
    const char *class = classes->item[0]->text;
    if (class && !strcmp(class, r->family->class_name)) return NULL;
    const char *other = r->family->dialect ? r->family->dialect->other_class : NULL;
    if (class && other && !strcmp(class, other)) return NULL;
    return error_new("%s: the class %s is not known; of model_type %s it is %s",
                     yaml_place(r->arena, classes), class ? class : "?", name,
                     r->family->class_name);
}
