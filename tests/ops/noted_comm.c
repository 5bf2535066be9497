/* noted_comm.c - a group that writes down in which order messages begin and end. */
#include "noted_comm.h"
#include "base/error.h"
#include <string.h>

static _Thread_local NotedComm *noted;

void noted_add(char letter)
{
    const size_t n = strlen(noted->did);
    CHECK(n + 1 < sizeof noted->did);
    noted->did[n] = letter;
}

static struct Pending *start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                             int n_receives, struct Stream *s)
{
    noted_add('s');
    return noted->plain.start(c, sends, n_sends, receives, n_receives, s);
}

static Error *finish(Comm *c, struct Pending *p, struct Stream *s)
{
    noted_add('f');
    return noted->plain.finish(c, p, s);
}

void noted_begin(Comm *c, NotedComm *to)
{
    *to = (NotedComm){ .plain = *c };
    noted = to;
    c->start = start;
    c->finish = finish;
}

void noted_end(Comm *c)
{
    c->start = noted->plain.start;
    c->finish = noted->plain.finish;
    noted = NULL;
}
