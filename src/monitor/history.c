/* history.c - JSONL results as tracks of numbers.
 *
 * Lines of a training differ in their numbers alone: a line is parsed once for its shape, and the
 * others of that shape are compared with it. */
#include "monitor/history.h"
#include "base/file.h"
#include "monitor/results.h"
#include "monitor/row_shape.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

static Track *track_of(Arena *a, History *h, const char *tag, const char *key)
{
    for (int64_t i = 0; i < h->n; i++)
        if (!strcmp(h->track[i].tag, tag) && !strcmp(h->track[i].key, key)) return &h->track[i];
    h->track = arena_grow(a, h->track, h->n, &h->cap, sizeof *h->track);
    Track *t = &h->track[h->n++];
    *t = (Track){ .tag = arena_string(a, tag), .key = arena_string(a, key) };
    return t;
}

static void append(Arena *a, Track *t, double step, double value)
{
    while (t->n && t->step[t->n - 1] >= step) t->n--;
    int64_t cap = t->cap;
    t->step = arena_grow(a, t->step, t->n, &cap, sizeof *t->step);
    t->value = arena_grow(a, t->value, t->n, &t->cap, sizeof *t->value);
    t->step[t->n] = step;
    t->value[t->n++] = value;
}

static void add(Arena *a, History *h, const char *tag, const char *key, bool is_loss, double step,
                const json_t *value)
{
    Track *t = track_of(a, h, tag, key);
    t->is_loss = is_loss;
    append(a, t, step, json_is_number(value) ? json_number_value(value) : NAN);
}

static void add_group(Arena *a, History *h, const char *tag, double step, json_t *row,
                      const char *group, bool is_loss)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(row, group), key, value)
        add(a, h, tag, key, is_loss, step, value);
}

/* wandb's names are "<tag> <key>"; a tag may hold spaces, a loss function's name does not. */
static void add_wandb(Arena *a, History *h, double step, const char *name, const json_t *value)
{
    static const char *const keys[] = { "train loss avg",
                                        "train loss last",
                                        "consumed tokens",
                                        "grad norm avg",
                                        "grad norm last",
                                        "train samples/s",
                                        "train mfu (16-bit)",
                                        MFU_OF_PRODUCTS,
                                        "lr mean",
                                        "peak memory rank 0 (MB)",
                                        NULL };
    const char *key = strrchr(name, ' ');
    if (!key) return;
    key++;
    for (int i = 0; keys[i]; i++) {
        size_t at = strlen(name) - strlen(keys[i]);
        if (strlen(name) > strlen(keys[i]) && name[at - 1] == ' ' && !strcmp(name + at, keys[i]))
            key = name + at;
    }
    char *tag = arena_string_n(a, name, (size_t)(key - name - 1));
    add(a, h, tag, key, strstr(key, "loss") || strstr(key, "Loss"), step, value);
}

/* False when it is no row of results. */
static bool add_row(Arena *a, History *h, json_t *row)
{
    const char *tag = json_string_value(json_object_get(row, "dataloader_tag")), *name;
    json_t *step = json_object_get(row, tag ? "num_train_steps_done" : "_step"), *value;
    if (!json_is_number(step)) return false;
    double at = json_number_value(step);
    if (tag) {
        add_group(a, h, tag, at, row, "losses", true);
        add_group(a, h, tag, at, row, "metrics", false);
        add_group(a, h, tag, at, row, "throughput_metrics", false);
    } else {
        json_object_foreach(row, name, value) if (name[0] != '_') add_wandb(a, h, at, name, value);
    }
    return true;
}

/* Python's NaN and Infinity are no JSON: outside of strings they become "", which is no number. */
static void blank_constants(char *line, size_t len)
{
    static const char *const names[] = { "NaN", "-Infinity", "Infinity" };
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        if (in_string && line[i] == '\\')
            i++;
        else if (line[i] == '"')
            in_string = !in_string;
        for (int n = 0; !in_string && n < 3; n++) {
            size_t size = strlen(names[n]);
            if (len - i < size || memcmp(line + i, names[n], size) != 0) continue;
            memset(line + i, ' ', size);
            line[i] = line[i + 1] = '"';
            i += size - 1;
            break;
        }
    }
}

/* ---- rows like earlier ones ---- */

enum { MOST_SHAPES = 8 };

/* Which numbers of a line go where. */
typedef struct KnownRow {
    RowShape shape;
    int64_t n;
    int step;       /* the number that is the step */
    int64_t *track; /* of the history, */
    int *number;    /* and its number; -1: the value is none */
} KnownRow;

typedef struct KnownRows {
    KnownRow *row[MOST_SHAPES];
    int n;
} KnownRows;

/* The line is read once more, with 0, 1, 2 ... as its numbers. `s` lives as long as `known`. */
static void learn(Arena *a, Arena *s, KnownRows *known, History *h, Str line)
{
    KnownRow *k = NEW(s, KnownRow);
    History places = { 0 };
    if (known->n == MOST_SHAPES || !row_shape_of(s, line, &k->shape)) return;
    const char *numbered = row_shape_numbered(s, &k->shape);
    json_t *row = json_loads(numbered, 0, NULL);
    bool is_row = row && add_row(s, &places, row) && places.n;
    json_decref(row);
    if (!is_row) return;
    k->step = (int)places.track[0].step[0];
    k->track = NEW_N(s, int64_t, places.n);
    k->number = NEW_N(s, int, places.n);
    for (k->n = 0; k->n < places.n; k->n++) {
        const Track *t = &places.track[k->n];
        k->track[k->n] = track_of(a, h, t->tag, t->key) - h->track;
        k->number[k->n] = isnan(t->value[0]) ? -1 : (int)t->value[0];
    }
    known->row[known->n++] = k;
}

static bool add_known(Arena *a, const KnownRows *known, History *h, Str line)
{
    double number[MOST_NUMBERS];
    for (int i = 0; i < known->n; i++) {
        const KnownRow *k = known->row[i];
        if (!row_shape_read(&k->shape, line, number) || isnan(number[k->step])) continue;
        for (int64_t t = 0; t < k->n; t++)
            append(a, &h->track[k->track[t]], number[k->step],
                   k->number[t] < 0 ? NAN : number[k->number[t]]);
        return true;
    }
    return false;
}

static bool add_line(Arena *a, Arena *s, KnownRows *known, History *h, Str line)
{
    if (add_known(a, known, h, line)) return true;
    char *copy = arena_string_n(s, line.ptr, line.len);
    blank_constants(copy, line.len);
    json_t *row = json_loadb(copy, line.len, 0, NULL);
    bool is_row = row && add_row(a, h, row);
    json_decref(row);
    if (is_row) learn(a, s, known, h, line);
    return is_row;
}

static void add_lines(Arena *a, Arena *s, Str text, History *out)
{
    KnownRows known = { 0 };
    int64_t line = 0;
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        line++;
        if (add_line(a, s, &known, out, (Str){ text.ptr + at, len })) {
            out->n_rows++;
        } else if (len) {
            if (!out->n_bad++) out->first_bad = line;
        }
        at += len + 1;
    }
}

Error *history_read(Arena *a, const char *path, History *out)
{
    Str text;
    Arena *s = arena_new();
    *out = (History){ 0 };
    Error *e = file_read(s, path, &text);
    if (!e) add_lines(a, s, text, out);
    arena_free(s);
    return e;
}

/* Of the values [from, to) the one that is farthest from their mean: what stands out stays. */
static int64_t farthest(const Track *t, int64_t from, int64_t to)
{
    double sum = 0;
    int64_t n = 0, best = from;
    for (int64_t i = from; i < to; i++)
        if (isfinite(t->value[i])) sum += t->value[i], n++;
    for (int64_t i = from; n && i < to; i++) {
        if (!isfinite(t->value[i])) return i;
        if (fabs(t->value[i] - sum / (double)n) > fabs(t->value[best] - sum / (double)n)) best = i;
    }
    return best;
}

Track track_thinned(Arena *a, const Track *t, int64_t most)
{
    Track out = *t;
    if (t->n <= most) return out;
    out.step = NEW_N(a, double, most);
    out.value = NEW_N(a, double, most);
    out.n = out.cap = most;
    for (int64_t k = 0; k < most; k++) {
        const int64_t from = k * t->n / most, to = (k + 1) * t->n / most;
        out.step[k] = t->step[to - 1];
        out.value[k] = t->value[k + 1 < most ? farthest(t, from, to) : t->n - 1];
    }
    return out;
}

const Track *history_find(const History *h, const char *tag, const char *key)
{
    for (int64_t i = 0; i < h->n; i++)
        if ((!tag || !strcmp(h->track[i].tag, tag)) && !strcmp(h->track[i].key, key))
            return &h->track[i];
    return NULL;
}
