/* pieces.c - lists of pieces: room for them and their order. */
#include "data/pieces.h"
#include "base/file.h"
#include "base/rng.h"

Error *pieces_new(Arena *a, const char *beside, int64_t n, Pieces *out)
{
    void *room;
    TRY(file_scratch(a, beside, sizeof(Str) * (size_t)n, &room));
    *out = (Pieces){ room, n };
    return NULL;
}

int64_t pieces_bytes(const Pieces *p)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < p->n; i++) sum += (int64_t)p->item[i].len;
    return sum;
}

/* Fisher and Yates from the end, as both libraries do it. Partners are drawn some steps ahead of
 * their use, since each of them is far from the caches. */
static void shuffle(Pieces *p, uint64_t (*below)(void *rng, uint64_t n), void *rng)
{
    enum { AHEAD = 64 };
    int64_t partner[AHEAD];
    for (int64_t i = p->n - 1; i >= 1; i -= AHEAD) {
        int64_t n = i < AHEAD ? i : AHEAD;
        for (int64_t k = 0; k < n; k++) {
            partner[k] = (int64_t)below(rng, (uint64_t)(i - k + 1));
            __builtin_prefetch(&p->item[partner[k]], 1);
        }
        for (int64_t k = 0; k < n; k++) {
            Str kept = p->item[i - k];
            p->item[i - k] = p->item[partner[k]];
            p->item[partner[k]] = kept;
        }
    }
}

static uint64_t draw_python(void *rng, uint64_t n)
{
    return python_below(rng, n);
}

static uint64_t draw_numpy(void *rng, uint64_t n)
{
    return numpy_below(rng, n);
}

void pieces_shuffle_python(Pieces *p, int64_t seed)
{
    Mt19937 m;
    mt19937_seed_python(&m, seed < 0 ? -(uint64_t)seed : (uint64_t)seed);
    shuffle(p, draw_python, &m);
}

void pieces_shuffle_numpy(Pieces *p, uint64_t seed)
{
    Pcg64 g;
    pcg64_seed(&g, seed);
    shuffle(p, draw_numpy, &g);
}
