/* panel_rows_amx.h - products of few rows of A with weights in panels, in tiles of AMX.
 *
 * Sixteen steps of a panel are two tiles of the right factor as they lie. Rows of A are packed as
 * tiles of the left one, up to two of them, and the panel passes by as one stream. Each element of
 * C is summed along k in the same order however many rows there are. */
#ifndef OPS_GEMM_PANEL_ROWS_AMX_H
#define OPS_GEMM_PANEL_ROWS_AMX_H
#include "ops/gemm/panel_tasks.h"

enum {
    PANEL_GROUP = 2 * MR,  /* rows of A that are multiplied together */
    PANEL_NEAR = 17 << 10, /* bytes that one group asks for ahead; several: the next panel */
};

/* The scratch of a thread. */
typedef struct PanelRoom {
    float *sums;  /* [PANEL_GROUP][PANEL_ROWS] */
    Word *a;      /* groups of rows, [steps / 16][rows of the group][16 words] */
    Word *padded; /* [steps][PANEL_ROWS], up to whole tiles */
} PanelRoom;

static int64_t panel_rows_words(const PanelRows *f)
{
    return PANEL_GROUP * PANEL_ROWS + (amx_up(f->p->m) + PANEL_ROWS) * amx_up(f->steps);
}

static PanelRoom panel_room(const PanelRows *f, Word *room)
{
    PanelRoom r = { .sums = room, .a = room + PANEL_GROUP * PANEL_ROWS };
    r.padded = r.a + amx_up(f->p->m) * amx_up(f->steps);
    return r;
}

/* Rows of the group that begins with row i, up to whole tiles. */
INLINE int64_t panel_rows_in_group(const Product *p, int64_t i)
{
    return p->m - i > MR ? PANEL_GROUP : MR;
}

static void panel_rows_pack(const PanelRows *f, Word *room)
{
    Word *to = panel_room(f, room).a;
    for (int64_t i = 0, rows; i < f->p->m; i += rows) {
        rows = panel_rows_in_group(f->p, i);
        for (int64_t k = 0; k < f->steps; k += AMX_STEPS)
            for (int64_t r = i; r < i + rows; r++, to += AMX_STEPS) {
                const int64_t n = f->steps - k < AMX_STEPS ? f->steps - k : AMX_STEPS;
                vec_store(to, r < f->p->m ? pack_along_k(&f->a, r, k, n) : vec_set(0));
            }
    }
}

/* Steps of a panel from `from` on, up to whole tiles. */
static void panel_rows_pad(const PanelRows *f, int64_t j, int64_t from, Word *to)
{
    for (int64_t k = from; k < amx_up(f->steps); k++)
        for (int64_t v = j; v < j + PANEL_ROWS; v += LANES, to += LANES)
            vec_store(to, k < f->steps ? pack_from_panels(&f->b, v, k, f->p->n - v) : vec_set(0));
}

/* A panel, and what of it must be read elsewhere. */
typedef struct PanelTiles {
    const Word *at, *rest;
    int64_t whole; /* steps that lie in whole tiles where the panel is */
} PanelTiles;

/* Some rows of A with a panel. */
static void panel_rows_group(const PanelRows *f, const PanelRoom *room, const PanelTiles *panel,
                             const Word *a, int64_t rows, Ahead *ahead)
{
    AmxFactors x = amx_factors(a, AMX_STEPS, panel->at, PANEL_ROWS);
    x.a_next = rows * AMX_STEPS;
    const int64_t left = amx_up(f->steps) - panel->whole;
    amx_clear();
    if (rows == MR)
        amx_square_add(1, 2, &x, panel->whole, ahead, NULL);
    else
        amx_square_add(2, 2, &x, panel->whole, ahead, NULL);
    x.a += panel->whole / AMX_STEPS * x.a_next;
    x.b = panel->rest;
    if (rows == MR)
        amx_square_add(1, 2, &x, left, NULL, NULL);
    else
        amx_square_add(2, 2, &x, left, NULL, NULL);
    if (rows == MR)
        amx_square_store(1, 2, room->sums, PANEL_ROWS);
    else
        amx_square_store(2, 2, room->sums, PANEL_ROWS);
}

static int64_t panel_rows_columns(const PanelRows *f, Word *scratch, int64_t task, int64_t number)
{
    const Product *p = f->p;
    const int64_t j = number * PANEL_ROWS;
    const PanelRoom room = panel_room(f, scratch);
    const bool is_whole = p->n - j >= PANEL_ROWS;
    PanelTiles panel = { .at = pack_panel_words(&f->b, j, 0),
                         .rest = room.padded,
                         .whole = is_whole ? f->steps / AMX_STEPS * AMX_STEPS : 0 };
    panel_rows_pad(f, j, panel.whole, room.padded);
    const int64_t calls = panel.whole / AMX_STEPS * ((p->m + PANEL_GROUP - 1) / PANEL_GROUP);
    const int64_t bytes = (int64_t)sizeof(Word) * f->steps * PANEL_ROWS;
    const int64_t distance = p->m <= PANEL_GROUP && bytes > PANEL_NEAR ? PANEL_NEAR : bytes;
    Ahead ahead = { 0 };
    if (calls && p->n - j >= 2 * PANEL_ROWS)
        ahead = ahead_of((const char *)panel.at + distance, bytes, bytes, 1, calls);
    const Word *a = room.a;
    int64_t next = -1;
    for (int64_t i = 0, rows; i < p->m; i += rows) {
        rows = panel_rows_in_group(p, i);
        panel_rows_group(f, &room, &panel, a, rows, &ahead);
        if (i + rows >= p->m) next = panel_rows_next(f, task);
        panel_rows_put(p, room.sums, i, rows, j);
        a += rows * amx_up(f->steps);
    }
    return next;
}

#endif
