/* sweep_loss.c - a run's loss, settings and label. */
#include "sweep/sweep_loss.h"
#include "config/yaml_emit.h"
#include <math.h>
#include <string.h>

/* Training reports its average under one name, evaluations under that of their loss function. */
static bool is_training(const Track *t)
{
    return !strcmp(t->key, "train loss avg") || !strcmp(t->key, "train loss last");
}

const Track *sweep_loss(const History *h)
{
    const Track *training = NULL;
    for (int64_t i = 0; i < h->n; i++) {
        const Track *t = &h->track[i];
        if (!t->is_loss || !t->n) continue;
        if (!is_training(t)) return t;
        if (!training) training = t;
    }
    return training;
}

double sweep_loss_at(const History *h, double step)
{
    const Track *t = sweep_loss(h);
    for (int64_t i = 0; t && i < t->n; i++)
        if (t->step[i] >= step) return isnan(t->value[i]) ? INFINITY : t->value[i];
    return NAN;
}

static void flatten(Arena *a, const Yaml *y, const char *name, SweepSettings *out)
{
    if (y->type == YAML_MAP && y->n) {
        for (int64_t k = 0; k < y->n; k++)
            flatten(a, y->item[k],
                    *name ? arena_printf(a, "%s.%s", name, y->key[k]->text) : y->key[k]->text, out);
        return;
    }
    Text t = { 0 };
    bool is_text = y->type == YAML_STRING || y->type == YAML_FLOAT || y->type == YAML_INT;
    if (is_text && y->text)
        text_puts(&t, y->text);
    else
        yaml_emit_json(y, 0, &t);
    while (t.len && t.ptr[t.len - 1] == '\n') t.ptr[--t.len] = 0;
    out->item = arena_grow(a, out->item, out->n, &out->cap, sizeof *out->item);
    out->item[out->n++] = (SweepSetting){ name, arena_string(a, t.ptr ? t.ptr : "") };
    text_free(&t);
}

Error *sweep_settings_read(Arena *a, const SweepRun *r, SweepSettings *out)
{
    Yaml *root;
    *out = (SweepSettings){ 0 };
    TRY(yaml_read(a, r->config, &root));
    const Yaml *sweep = yaml_get(root, "sweep");
    if (sweep && sweep->type == YAML_MAP) flatten(a, sweep, "", out);
    return NULL;
}

static const char *label_of(Arena *a, const SweepSettings *s)
{
    const char *label = "";
    for (int64_t i = 0; i < s->n; i++)
        label =
            arena_printf(a, "%s%s%s=%s", label, i ? " " : "", s->item[i].name, s->item[i].value);
    return label;
}

const char *sweep_combination_label(Arena *a, const Yaml *combination)
{
    SweepSettings s = { 0 };
    flatten(a, combination, "", &s);
    return label_of(a, &s);
}

const char *sweep_label(Arena *a, const SweepRun *r)
{
    SweepSettings s;
    Error *e = sweep_settings_read(a, r, &s);
    if (e || !s.n) {
        error_free(e);
        return r->hash;
    }
    return label_of(a, &s);
}
