/* consensus.c - what the ranks of a job decide together, by small reductions over all of them. */
#include "train/consensus.h"
#include "base/str.h"
#include <ctype.h>
#include <string.h>

/* What a rank whose error the others know has to say. */
typedef struct Word {
    int64_t length; /* of the text; -1: it has no error */
    int status;
} Word;

static bool is_alone(const Consensus *c)
{
    return !c || c->world->size == 1;
}

int consensus_rank(const Consensus *c)
{
    return c ? c->world->rank : 0;
}

void consensus_wait_at_most(Consensus *c, const double *seconds)
{
    if (c && seconds) c->world->timeout = *seconds;
}

bool consensus_leads(const Consensus *c)
{
    return consensus_rank(c) == 0;
}

static Error *broadcast(const Consensus *c, void *data, size_t bytes, int root)
{
    return bytes ? c->world->broadcast(c->world, data, bytes, root, NULL) : NULL;
}

Error *consensus_sum(Consensus *c, double *x, int n)
{
    if (is_alone(c)) return NULL;
    return c->world->all_reduce(c->world, x, n, F64, REDUCE_SUM, NULL);
}

Error *consensus_text(Consensus *c, Arena *a, const char **text)
{
    if (is_alone(c)) return NULL;
    const char *mine = consensus_leads(c) ? *text : NULL;
    int64_t length = mine ? (int64_t)strlen(mine) : -1;
    TRY(broadcast(c, &length, sizeof length, 0));
    char *to = length < 0 ? NULL : arena_alloc(a, (size_t)length + 1);
    if (to && mine) memcpy(to, mine, (size_t)length);
    if (to) TRY(broadcast(c, to, (size_t)length, 0));
    *text = to;
    return NULL;
}

/* ---- errors ---- */

/* What ranks say, each text once. */
typedef struct Report {
    const char **text; /* by rank; NULL: no error */
    int n_ranks, status;
} Report;

static Error *collect(const Consensus *c, const Error *mine, Arena *a, Report *out)
{
    const int n = c->world->size, own = c->world->rank;
    *out = (Report){ .text = NEW_N(a, const char *, n), .n_ranks = n };
    for (int r = n; r-- > 0;) {
        Word w = { .length = -1 };
        if (r == own && mine)
            w = (Word){ (int64_t)strlen(error_text(mine)), error_exit_status(mine) };
        TRY(broadcast(c, &w, sizeof w, r));
        if (w.length < 0) continue;
        char *text = arena_alloc(a, (size_t)w.length + 1);
        if (r == own && mine) memcpy(text, error_text(mine), (size_t)w.length);
        TRY(broadcast(c, text, (size_t)w.length, r));
        out->text[r] = text;
        out->status = w.status; /* that of the first is the last to come */
    }
    return NULL;
}

/* "rank 1: ...": what was said at an earlier point, or what another rank broke off with. */
static bool names_a_rank(const char *text)
{
    return !strncmp(text, "rank", 4) && text[4 + (text[4] == 's')] == ' ' &&
           isdigit((unsigned char)text[5 + (text[4] == 's')]);
}

/* "rank 1: ..." is told by that rank itself; that rank 1 has died, or does not come, by all others.
 */
static bool is_told_by_another(const char *text)
{
    return names_a_rank(text) && text[4 + strspn(text + 4, "s 0123456789,")] == ':';
}

static void note_fault(Consensus *c, const Error *e)
{
    if (*error_text(e) && !is_told_by_another(error_text(e)))
        c->fault = arena_string(c->arena, error_text(e));
}

/* "rank 1: ", "ranks 0, 3: ", or nothing where nobody says anything else. */
static void put_ranks(const Report *r, const char *text, Text *out)
{
    int n = 0, n_others = 0;
    for (int i = 0; i < r->n_ranks; i++) {
        n += r->text[i] && !strcmp(r->text[i], text);
        n_others += !r->text[i] || (*r->text[i] && strcmp(r->text[i], text) != 0);
    }
    if (!n_others || names_a_rank(text)) return;
    text_puts(out, n == 1 ? "rank " : "ranks ");
    for (int i = 0, k = 0; i < r->n_ranks; i++)
        if (r->text[i] && !strcmp(r->text[i], text)) text_printf(out, "%s%d", k++ ? ", " : "", i);
    text_puts(out, ": ");
}

static bool is_said_before(const Report *r, int rank)
{
    for (int i = 0; i < rank; i++)
        if (r->text[i] && !strcmp(r->text[i], r->text[rank])) return true;
    return false;
}

static Error *joint_error(const Report *r)
{
    Error *e = error_silent(r->status);
    for (int i = 0; i < r->n_ranks; i++) {
        if (!r->text[i] || !*r->text[i] || is_said_before(r, i)) continue;
        Text t = { 0 };
        put_ranks(r, r->text[i], &t);
        text_puts(&t, r->text[i]);
        e = error_join(e, error_new("%s", t.ptr));
        text_free(&t);
    }
    return e;
}

static Error *share(Consensus *c, Error *mine)
{
    Arena *a = arena_new();
    Report r;
    if (mine && *error_text(mine)) c->fault = arena_string(c->arena, error_text(mine));
    Error *e = collect(c, mine, a, &r);
    if (e && !c->fault) note_fault(c, e);
    error_free(mine);
    c->is_over = true;
    if (!e) e = consensus_leads(c) ? joint_error(&r) : error_silent(r.status);
    arena_free(a);
    return e;
}

Error *consensus_reach(Consensus *c, Error *mine, double *most, int n)
{
    enum { MOST_NUMBERS = 8 };
    double all[MOST_NUMBERS + 1];
    if (is_alone(c)) return mine;
    CHECK(n <= MOST_NUMBERS);
    if (c->is_broken) return mine ? mine : error_silent(1);
    for (int i = 0; i < n; i++) all[i] = most[i];
    all[n] = mine != NULL;
    Error *e = c->world->all_reduce(c->world, all, n + 1, F64, REDUCE_MAX, NULL);
    if (e) {
        c->is_broken = c->is_over = true;
        note_fault(c, mine && *error_text(mine) ? mine : e);
        return error_join(mine, e);
    }
    for (int i = 0; i < n; i++) most[i] = all[i];
    return all[n] > 0 ? share(c, mine) : NULL;
}

Error *consensus_hear(Consensus *c, Error *mine)
{
    const Consensus before = c ? *c : (Consensus){ .world = NULL };
    Error *e = consensus_error(c, mine);
    if (c && !c->is_broken) *c = before;
    return e;
}

Error *consensus_error(Consensus *c, Error *mine)
{
    return consensus_reach(c, mine, NULL, 0);
}

Error *consensus_break(Consensus *c, Error *e)
{
    if (!e || is_alone(c) || c->is_over) return e;
    c->is_over = c->is_broken = true;
    note_fault(c, e);
    if (names_a_rank(error_text(e))) return e;
    e = error_wrap(e, "rank %d", c->world->rank);
    c->world->abort(c->world, error_text(e));
    return e;
}
