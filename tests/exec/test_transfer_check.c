/* test_transfer_check.c - transfers that do not meet are found, before any rank waits for them. */
#include "base/arena.h"
#include "exec/transfer_check.h"
#include "test.h"

#define SEND(TO, TAG, BYTES)                                                                       \
    {                                                                                              \
        "send", { .kind = TRANSFER_SEND, .peer = TO, .tag = TAG }, TAG, BYTES                      \
    }
#define RECEIVE(FROM, TAG, BYTES)                                                                  \
    {                                                                                              \
        "receive", { .kind = TRANSFER_RECEIVE, .peer = FROM, .tag = TAG }, TAG, BYTES              \
    }
#define ALL(NAME, RANKS, BYTES)                                                                    \
    {                                                                                              \
        NAME, { .kind = TRANSFER_ALL, .ranks = RANKS }, 0, BYTES                                   \
    }

typedef struct Ranks {
    TransferEvent item[3][4];
    int64_t n[3];
} Ranks;

static Error *check(const Ranks *r, int64_t *n_messages)
{
    TransferList list[3];
    Arena *a = arena_new();
    for (int i = 0; i < 3; i++)
        list[i] = (TransferList){ .item = (TransferEvent *)r->item[i], .n = r->n[i] };
    Error *e = transfers_check(a, list, 3, n_messages);
    arena_free(a);
    return e;
}

static Ranks good(void)
{
    return (
        Ranks){ .item = { { SEND(1, 0, 8), RECEIVE(1, 1, 8), ALL("sum", 5, 4), ALL("norm", 0, 2) },
                          { RECEIVE(0, 0, 8), SEND(2, 0, 16), SEND(0, 1, 8), ALL("norm", 0, 2) },
                          { RECEIVE(1, 0, 16), ALL("sum", 5, 4), ALL("norm", 0, 2) } },
                .n = { 4, 4, 3 } };
}

static void refused(const Ranks *r, const char *says)
{
    int64_t n;
    assert_error_has(check(r, &n), says);
}

TEST(transfers_of_ranks_that_fit_are_counted)
{
    const Ranks r = good();
    int64_t n;
    assert_no_error(check(&r, &n));
    assert_int_equal(n, 3);
}

TEST(transfers_that_do_not_meet_are_named)
{
    Ranks r = good();
    r.item[2][0].bytes = 4;
    refused(&r, "rank 1 of the pipeline sends 16 bytes to rank 2, which expects 4");
    r = good();
    r.item[0][1].use.tag = 7;
    r.item[0][1].microbatch = 7;
    refused(&r, "rank 0 of the pipeline would wait for ever for what rank 1 sends in microbatch 7");
    r = good();
    r.item[0][3].bytes = 3;
    refused(&r, "comes to norm of");
    r = good();
    r.item[2][1].op = "other";
    refused(&r, "comes to sum of 4 bytes, rank 2 to other of 4");
    r = good();
    r.n[2] = 2; /* it does not come to the norm */
    refused(&r, "would wait for ever in norm");
    r = good();
    r.item[1][2] = r.item[1][3]; /* one message less */
    r.n[1] = 3;
    refused(&r, "rank 0 of the pipeline would wait for ever");
    r = good();
    r.item[1][0] = (TransferEvent)SEND(2, 9, 8);
    refused(&r, "what rank 0 of the pipeline sends to rank 1 is never taken");
}
