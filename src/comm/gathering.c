/* gathering.c - the processes of a job on one machine find each other and know when one ends. */
#include "comm/gathering.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Python, a busy machine and a slow network drive may lie between the first and the last. */
enum { NOTICE_AFTER = 5, PATIENCE = 600, MILLISECOND = 1000 };
static const unsigned char admitted =
    'a'; /* the leader's first byte to one; then its exit status */

struct Gathering {
    int64_t n; /* all processes of this machine; slot 0 is the leader's */
    int *fd;   /* by LOCAL_RANK; -1: not come yet */
};

/* The first and only message of one that comes. */
typedef struct Hello {
    int64_t local_rank, local_world_size;
} Hello;

static void put(Text *t, const char *word)
{
    text_printf(t, "%zu:%s,", word ? strlen(word) : 0, word ? word : "");
}

/* The same for all processes of a job on this machine, and for no other job that runs. */
static socklen_t make_name(const Rank *rank, struct sockaddr_un *out)
{
    Text t = { 0 };
    char hex[65];
    text_printf(&t, "%d,", (int)geteuid());
    put(&t, rank->master_address);
    put(&t, rank->master_port);
    put(&t, environment_get("TORCHELASTIC_RUN_ID"));
    put(&t, environment_get("TORCHELASTIC_RESTART_COUNT"));
    sha256_hex(t.ptr, t.len, hex);
    text_free(&t);
    text_printf(&t, "modalities-%s", hex);
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(out->sun_path + 1, t.ptr, t.len);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + t.len);
    text_free(&t);
    return len;
}

/* Abstract names have no owner, so anyone could take one. */
static bool is_mine(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static bool has_ended(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}

/* To one that has ended nothing needs to be said. */
static void send_byte(int fd, unsigned char byte)
{
    ssize_t sent = send(fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int64_t n_missing(const Gathering *g)
{
    int64_t n = 0;
    for (int64_t i = 1; i < g->n; i++) n += g->fd[i] < 0;
    return n;
}

static Error *admit(Gathering *g, int fd)
{
    const struct timeval limit = { .tv_sec = 5 };
    Hello h;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (!is_mine(fd) || recv(fd, &h, sizeof h, MSG_WAITALL) != sizeof h) {
        close(fd);
        return NULL;
    }
    if (h.local_world_size != g->n || h.local_rank < 1 || h.local_rank >= g->n) {
        close(fd);
        return error_new("a process with LOCAL_RANK=%" PRId64 " and LOCAL_WORLD_SIZE=%" PRId64
                         " has come to a job with LOCAL_WORLD_SIZE=%" PRId64
                         ": two jobs with the same MASTER_ADDR and MASTER_PORT?",
                         h.local_rank, h.local_world_size, g->n);
    }
    int *slot = &g->fd[h.local_rank];
    if (*slot >= 0 && !has_ended(*slot)) {
        close(fd);
        return error_new("two processes with LOCAL_RANK=%" PRId64
                         " have come: two jobs with the same MASTER_ADDR and MASTER_PORT?",
                         h.local_rank);
    }
    if (*slot >= 0) close(*slot);
    *slot = fd;
    send_byte(fd, admitted);
    return NULL;
}

static Error *system_error(const char *what)
{
    return error_new("cannot %s the socket on which the processes of this job meet: %s", what,
                     strerror(errno));
}

typedef struct Wait {
    const Rank *rank;
    double since;
    bool is_said;
} Wait;

static Wait wait_from_now(const Rank *rank)
{
    return (Wait){ .rank = rank, .since = clock_seconds() };
}

/* To be called now and then: says after a while, once, how many are missing; after a long while
 * that is an error. */
static Error *be_patient(Wait *w, int64_t n)
{
    double waited = clock_seconds() - w->since;
    const char *ending = n == 1 ? "" : "es";
    if (waited < NOTICE_AFTER) return NULL;
    if (waited > PATIENCE)
        return error_new("%" PRId64 " process%s of this job did not come within %d minutes "
                         "(LOCAL_RANK=%" PRId64 ", LOCAL_WORLD_SIZE=%" PRId64 ")",
                         n, ending, PATIENCE / 60, w->rank->local_rank, w->rank->local_world_size);
    if (!w->is_said)
        log_info("LOCAL_RANK=%" PRId64 " of LOCAL_WORLD_SIZE=%" PRId64 ": waiting for %" PRId64
                 " process%s of this job to start",
                 w->rank->local_rank, w->rank->local_world_size, n, ending);
    w->is_said = true;
    return NULL;
}

/* Another job may use the name until its processes have met. */
static Error *take_name(int fd, const Rank *rank)
{
    struct sockaddr_un name;
    socklen_t len = make_name(rank, &name);
    for (Wait w = wait_from_now(rank); bind(fd, (struct sockaddr *)&name, len) != 0;) {
        if (errno != EADDRINUSE) return system_error("name");
        TRY(be_patient(&w, 1));
        usleep(20 * MILLISECOND);
    }
    return listen(fd, SOMAXCONN) == 0 ? NULL : system_error("listen on");
}

static Error *admit_all(Gathering *g, int listener, const Rank *rank)
{
    for (Wait w = wait_from_now(rank); n_missing(g) > 0;) {
        struct pollfd p = { .fd = listener, .events = POLLIN };
        TRY(be_patient(&w, n_missing(g)));
        if (poll(&p, 1, 500) < 1) continue;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) TRY(admit(g, fd));
    }
    return NULL;
}

static void dissolve(Gathering *g)
{
    for (int64_t i = 1; i < g->n; i++)
        if (g->fd[i] >= 0) close(g->fd[i]);
}

Error *gathering_lead(Arena *a, const Rank *rank, Gathering **out)
{
    Gathering *g = NEW(a, Gathering);
    *g = (Gathering){ .n = rank->local_world_size, .fd = NEW_N(a, int, rank->local_world_size) };
    for (int64_t i = 0; i < g->n; i++) g->fd[i] = -1;
    *out = g;
    int listener = open_socket();
    if (listener < 0) return system_error("make");
    Error *e = take_name(listener, rank);
    if (!e) e = admit_all(g, listener, rank);
    close(listener);
    if (e) dissolve(g);
    return e;
}

void gathering_watch(const Gathering *g)
{
    for (int64_t i = 1; i < g->n; i++) {
        fcntl(g->fd[i], F_SETOWN, getpid());
        fcntl(g->fd[i], F_SETSIG, SIGUSR1);
        fcntl(g->fd[i], F_SETFL, fcntl(g->fd[i], F_GETFL) | O_ASYNC);
    }
    if (gathering_lost(g)) raise(SIGUSR1);
}

int64_t gathering_lost(const Gathering *g)
{
    for (int64_t i = 1; i < g->n; i++)
        if (has_ended(g->fd[i])) return i;
    return 0;
}

void gathering_tell(const Gathering *g, int status)
{
    for (int64_t i = 1; i < g->n; i++) {
        fcntl(g->fd[i], F_SETFL, fcntl(g->fd[i], F_GETFL) & ~O_ASYNC);
        send_byte(g->fd[i], (unsigned char)status);
    }
}

/* Whether one byte has come; false at the end of the connection. */
static bool read_byte(int fd, unsigned char *byte)
{
    ssize_t n;
    do n = read(fd, byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

/* One attempt: a connection to a leader that wants this process, or -1. */
static int try_to_meet(const Rank *rank, const struct sockaddr_un *name, socklen_t len)
{
    const Hello h = { rank->local_rank, rank->local_world_size };
    unsigned char byte;
    int fd = open_socket();
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)name, len) == 0 && is_mine(fd) &&
        send(fd, &h, sizeof h, MSG_NOSIGNAL) == sizeof h && read_byte(fd, &byte))
        return fd;
    close(fd);
    return -1;
}

/* A leader whose job is complete without this process was another job's. */
static Error *meet_leader(const Rank *rank, int *fd)
{
    struct sockaddr_un name;
    socklen_t len = make_name(rank, &name);
    for (Wait w = wait_from_now(rank); (*fd = try_to_meet(rank, &name, len)) < 0;) {
        TRY(be_patient(&w, 1));
        usleep(20 * MILLISECOND);
    }
    return NULL;
}

static void ignore_stop_signals(void)
{
    static const int stop[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
    for (size_t i = 0; i < sizeof stop / sizeof *stop; i++) signal(stop[i], SIG_IGN);
}

Error *gathering_follow(const Rank *rank, int *status)
{
    int fd;
    unsigned char byte;
    /* meanwhile a signal ends this process as it ends the leader, which has not begun either */
    TRY(meet_leader(rank, &fd));
    ignore_stop_signals();
    *status = -1;
    while (read_byte(fd, &byte)) *status = byte;
    /* the launcher should see the leader end first, as what it reports as the cause */
    usleep(300 * MILLISECOND);
    close(fd);
    return NULL;
}
