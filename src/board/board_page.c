/* board_page.c - the page of a board: its HTML and script, with the data put in. */
#include "base/file.h"
#include "base/json.h"
#include "board/board.h"
#include <math.h>
#include <string.h>

/* board.html as it stands; the data takes the place of DATA_MARK. */
__asm__(".section .rodata\n"
        "board_html:\n"
        ".incbin \"src/board/board.html\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char board_html[] __attribute__((visibility("hidden")));

#define DATA_MARK "/*DATA*/null"

static void put_string(Text *t, const char *s)
{
    text_json_string(t, str_of(s));
}

/* Six digits are more than a screen shows. */
static void put_number(Text *t, double x)
{
    if (isfinite(x))
        text_printf(t, "%.6g", x);
    else
        text_puts(t, "null");
}

/* The earlier track of the same run with the same steps; -1: there is none. */
static int64_t same_steps(const History *h, int64_t i)
{
    for (int64_t k = 0; k < i; k++) {
        const Track *x = &h->track[k], *y = &h->track[i];
        if (x->n == y->n && !memcmp(x->step, y->step, (size_t)x->n * sizeof *x->step)) return k;
    }
    return -1;
}

static void put_steps(const History *h, int64_t i, Text *t)
{
    const int64_t same = same_steps(h, i);
    const Track *k = &h->track[i];
    if (same >= 0) {
        text_printf(t, "%lld", (long long)same);
        return;
    }
    text_putc(t, '[');
    for (int64_t n = 0; n < k->n; n++) text_printf(t, "%s%.15g", n ? "," : "", k->step[n]);
    text_putc(t, ']');
}

static void put_track(const History *h, int64_t i, Text *t)
{
    const Track *k = &h->track[i];
    text_puts(t, "{\"tag\":");
    put_string(t, k->tag);
    text_puts(t, ",\"key\":");
    put_string(t, k->key);
    text_printf(t, ",\"loss\":%s,\"x\":", k->is_loss ? "true" : "false");
    put_steps(h, i, t);
    text_puts(t, ",\"y\":[");
    for (int64_t n = 0; n < k->n; n++) {
        if (n) text_putc(t, ',');
        put_number(t, k->value[n]);
    }
    text_puts(t, "]}");
}

static void put_tracks(const History *h, Text *t)
{
    Arena *a = arena_new();
    History shown = { .track = NEW_N(a, Track, h->n + 1), .n = h->n };
    for (int64_t i = 0; i < h->n; i++)
        shown.track[i] = track_thinned(a, &h->track[i], SHOWN_POINTS);
    for (int64_t i = 0; i < shown.n; i++) {
        if (i) text_putc(t, ',');
        put_track(&shown, i, t);
    }
    arena_free(a);
}

static void put_json(Text *t, const char *key, const char *json)
{
    if (json) text_printf(t, ",\"%s\":%s", key, json);
}

static void put_run(const BoardRun *r, Text *t)
{
    text_puts(t, "{\"name\":");
    put_string(t, r->name);
    text_puts(t, ",\"state\":");
    put_string(t, r->state);
    text_printf(t, ",\"steps\":%lld,\"target\":%lld,\"settings\":{", (long long)r->steps,
                (long long)r->target_steps);
    for (int64_t i = 0; i < r->n_settings; i++) {
        if (i) text_putc(t, ',');
        put_string(t, r->setting[i].name);
        text_putc(t, ':');
        put_string(t, r->setting[i].value);
    }
    text_puts(t, "},\"tracks\":[");
    put_tracks(&r->history, t);
    text_puts(t, "]");
    put_json(t, "memory", r->memory);
    put_json(t, "schedule", r->schedule);
    put_json(t, "samples", r->samples);
    text_puts(t, "}");
}

static void put_table(const BoardTable *b, Text *t)
{
    text_puts(t, "{\"title\":");
    put_string(t, b->title);
    text_puts(t, ",\"note\":");
    put_string(t, b->note);
    text_puts(t, ",\"columns\":[");
    for (int k = 0; k < b->n_columns; k++) {
        if (k) text_putc(t, ',');
        put_string(t, b->column[k]);
    }
    text_puts(t, "],\"rows\":[");
    for (int64_t i = 0; i < b->n_rows; i++) {
        text_puts(t, i ? ",[" : "[");
        for (int k = 0; k < b->n_columns; k++) {
            if (k) text_putc(t, ',');
            put_string(t, b->cell[i * b->n_columns + k]);
        }
        text_putc(t, ']');
    }
    text_puts(t, "]}");
}

/* All runs of a board have the same settings. */
static void put_seeds(const Board *b, Text *t)
{
    bool any = false;
    text_puts(t, ",\"seeds\":[");
    for (int64_t i = 0; b->n_runs && i < b->run[0].n_settings; i++) {
        if (!b->run[0].setting[i].is_seed) continue;
        if (any) text_putc(t, ',');
        put_string(t, b->run[0].setting[i].name);
        any = true;
    }
    text_putc(t, ']');
}

static void put_board(const Board *b, Text *t)
{
    text_puts(t, "{\"title\":");
    put_string(t, b->title);
    text_printf(t, ",\"refreshes\":%s", b->refreshes ? "true" : "false");
    put_seeds(b, t);
    text_puts(t, ",\"tables\":[");
    for (int i = 0; i < b->n_tables; i++) {
        if (i) text_putc(t, ',');
        put_table(&b->table[i], t);
    }
    text_puts(t, "],\"runs\":[");
    for (int64_t i = 0; i < b->n_runs; i++) {
        text_puts(t, i ? ",\n" : "\n");
        put_run(&b->run[i], t);
    }
    text_puts(t, "]}");
}

bool board_is_page(Str content)
{
    static const char mark[] = "<meta name=\"generator\" content=\"modalities board\">";
    enum { HEAD_BYTES = 512 };
    size_t len = content.len < HEAD_BYTES ? content.len : HEAD_BYTES;
    return content.ptr && memmem(content.ptr, len, mark, sizeof mark - 1);
}

Error *board_write(const Board *b, const char *path)
{
    NewFile f;
    Text data = { 0 };
    const char *mark = strstr(board_html, DATA_MARK);
    CHECK(mark != NULL);
    TRY(file_create(path, &f));
    f.skip_sync = true;
    put_board(b, &data);
    fwrite(board_html, 1, (size_t)(mark - board_html), f.stream);
    json_put_in_script(&data, f.stream);
    fputs(mark + strlen(DATA_MARK), f.stream);
    text_free(&data);
    return file_commit(&f);
}
