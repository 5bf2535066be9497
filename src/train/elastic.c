/* elastic.c - a job of processes that is started again on those that are left.
 *
 * A rank that dies takes its job with it: the others end with an error (comm/mpi_watch.c). Then the
 * hosts are asked which of them are there, and the largest job that fits on them goes on from the
 * last checkpoint. A job that ends again and again without a further checkpoint has another fault
 * than a host, and is given up. */
#include "train/elastic.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "checkpoint/saving.h"
#include "monitor/experiment.h"
#include "monitor/run_record.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_START = 127 }; /* as a shell says it */
enum { MOST_VAIN_STARTS = 3, MOST_VAIN_DEATHS = 20, PROBE_SECONDS = 15, MAX_WORDS = 256 };

typedef struct Host {
    const char *name;
    int64_t slots;
} Host;

typedef struct Elastic {
    Arena *arena;
    const ElasticJob *job;
    const char *folder; /* of the experiment */
    ElasticSizes sizes;
    Host *host;
    int64_t n_hosts, host_cap;
} Elastic;

/* ---- processes ---- */

/* In a group of its own: a Ctrl-C of the terminal is for us to pass on. */
static Error *start(const char *const *words, bool is_quiet, pid_t *out)
{
    const pid_t parent = getpid(), child = fork();
    if (child < 0) return error_new("cannot start %s: %s", words[0], strerror(errno));
    *out = child;
    if (child) return NULL;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    for (int s = 1; s < NSIG; s++)
        if (s == SIGINT || s == SIGTERM || s == SIGHUP || s == SIGUSR1) signal(s, SIG_DFL);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
    if (is_quiet) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(CANNOT_START);
    }
    execvp(words[0], (char *const *)words);
    fprintf(stderr, "cannot start %s: %s\n", words[0], strerror(errno));
    _exit(CANNOT_START);
}

typedef enum Children { NO_CHILDREN, DEAD_CHILDREN, LIVE_CHILDREN } Children;

/* What there is of a process's children: one that lives, or those alone whose end it did not ask
 * for. */
static Children children_of(pid_t of)
{
    DIR *d = opendir("/proc");
    Children found = NO_CHILDREN;
    for (const struct dirent *e; d && found != LIVE_CHILDREN && (e = readdir(d));) {
        char path[64], line[512], state = 'Z', *end;
        int parent = 0;
        if (!isdigit((unsigned char)e->d_name[0])) continue;
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f) && (end = strrchr(line, ')')) &&
            sscanf(end + 1, " %c %d", &state, &parent) == 2 && parent == of)
            found = state == 'Z' ? DEAD_CHILDREN : LIVE_CHILDREN;
        if (f) fclose(f);
    }
    if (d) closedir(d);
    return found;
}

/* mpirun may hang when all of its ranks are dead, in the library that it ends with; they may be
 * dead half a second after its start. Then it leaves their ends unasked, or has no child any more.
 * The latter says nothing where ranks are on other hosts: what starts them there ends before them.
 * `hangs` is for every half second. */
typedef struct Watch {
    bool is_alone; /* all ranks are on this host */
    bool had_children;
    int n_dead, n_without; /* looks in turn that found dead ones alone; none alive */
} Watch;

static bool hangs(Watch *w, pid_t mpirun)
{
    enum { MOST = 10 }; /* five seconds */
    const Children now = children_of(mpirun);
    w->n_dead = now == DEAD_CHILDREN ? w->n_dead + 1 : 0;
    w->n_without = now == LIVE_CHILDREN ? 0 : w->n_without + 1;
    return w->n_dead > MOST || (w->is_alone && w->had_children && w->n_without > MOST);
}

/* The exit status; 128 and the signal of one that was killed. Our stop signals go on to the ranks:
 * the first as SIGUSR1, which mpirun passes on. */
static int wait_for(pid_t child, double seconds, bool is_alone)
{
    bool is_told = false;
    Watch watch = { .is_alone = is_alone };
    int status;
    for (int64_t look = 0;; look++) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) break;
        if (ended < 0 && errno != EINTR) return CANNOT_START;
        if (signal_stop_requested() && !is_told) is_told = kill(child, SIGUSR1) == 0;
        if (!watch.had_children) watch.had_children = children_of(child) != NO_CHILDREN;
        const bool is_late = seconds > 0 && 0.02 * (double)look > seconds;
        if (is_late || (look % 25 == 24 && hangs(&watch, child))) kill(child, SIGKILL);
        usleep(20 * 1000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- hosts ---- */

static Error *read_hosts(Elastic *e)
{
    Str text;
    if (!e->job->hostfile) return NULL;
    TRY(file_read(e->arena, e->job->hostfile, &text));
    char *save = NULL;
    for (char *line = strtok_r((char *)text.ptr, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char name[256];
        const char *slots = strstr(line, "slots=");
        if (sscanf(line, " %255[^ \t#]", name) != 1) continue;
        const Host host = { arena_string(e->arena, name),
                            slots ? strtoll(slots + strlen("slots="), NULL, 10) : 1 };
        if (host.slots < 1)
            return error_usage("%s: %s: slots is a whole number above 0", e->job->hostfile, line);
        e->host = arena_grow(e->arena, e->host, e->n_hosts, &e->host_cap, sizeof *e->host);
        e->host[e->n_hosts++] = host;
    }
    return e->n_hosts ? NULL : error_usage("%s: there are no hosts in it", e->job->hostfile);
}

static bool answers(const Host *h)
{
    const char *const words[] = { "mpirun", "--host", h->name, "-n", "1", "true", NULL };
    pid_t child;
    Error *e = start(words, true, &child);
    const bool is_there = !e && wait_for(child, PROBE_SECONDS, false) == 0;
    error_free(e);
    return is_there;
}

/* Ranks for which there is a place; *hosts is what mpirun is told of them. */
static int64_t count_places(const Elastic *e, Arena *a, const char **hosts)
{
    int64_t n = 0;
    Text list = { 0 };
    *hosts = NULL;
    if (!e->n_hosts) return e->job->n_ranks;
    for (int64_t i = 0; i < e->n_hosts && n < e->job->n_ranks; i++) {
        const Host *h = &e->host[i];
        if (!answers(h)) {
            log_warning("host %s does not answer: its %" PRId64 " places are left out", h->name,
                        h->slots);
            continue;
        }
        text_printf(&list, "%s%s:%" PRId64, n ? "," : "", h->name, h->slots);
        n += h->slots;
    }
    if (n) *hosts = arena_string(a, list.ptr);
    text_free(&list);
    return n < e->job->n_ranks ? n : e->job->n_ranks;
}

/* ---- one start ---- */

static const char **words_of(const Elastic *e, Arena *a, const ElasticSize *size, const char *hosts)
{
    const ElasticJob *job = e->job;
    const char **word = NEW_N(a, const char *, MAX_WORDS + 2 * (job->overrides.n + job->more.n));
    const char *first[] = { "mpirun",
                            "-n",
                            arena_printf(a, "%" PRId64, size->ranks),
                            hosts ? "--host" : NULL,
                            hosts,
                            job->program,
                            "run",
                            "--config_file_path",
                            job->config_file_path,
                            "--experiments_root_path",
                            job->experiments_root_path,
                            "--experiment_id",
                            job->experiment_id,
                            "--resume_if_started" };
    int n = 0;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (first[i]) word[n++] = first[i];
    for (int64_t i = 0; i < job->more.n; i++) word[n++] = job->more.item[i];
    for (int64_t i = 0; i < job->overrides.n; i++) {
        word[n++] = "--set";
        word[n++] = job->overrides.item[i];
    }
    word[n++] = "--set";
    word[n++] = arena_printf(a, "settings.step_profile.gradient_accumulation_steps=%" PRId64,
                             size->accumulation);
    return word;
}

/* Steps of the last checkpoint, or -1. */
static int64_t saved_steps(const Elastic *e)
{
    Arena *a = arena_new();
    RunRecord r;
    const char *newest = NULL;
    int64_t steps = -1;
    Error *error = run_record_read(a, e->folder, &r);
    if (!error && *r.checkpoints)
        error = checkpoint_newest(a, r.checkpoints, r.checkpoint_id, &newest);
    if (!error && newest) error = checkpoint_path_number(path_name(newest), "seen_steps_", &steps);
    error_free(error);
    arena_free(a);
    return steps;
}

static Error *no_size(const Elastic *e, int64_t places)
{
    Text sizes = { 0 };
    elastic_describe(&e->sizes, &sizes);
    Error *error =
        error_new("only %" PRId64 " of %" PRId64
                  " ranks have a place, on which the training does not fit. With %" PRId64
                  " samples per step it fits on %s",
                  places, e->job->n_ranks, e->sizes.samples_per_step, sizes.ptr);
    text_free(&sizes);
    return error;
}

static Error *run_once(const Elastic *e, int64_t number, int *status)
{
    Arena *a = arena_new();
    const char *hosts;
    const int64_t places = count_places(e, a, &hosts), steps = saved_steps(e);
    const ElasticSize *size = elastic_largest(&e->sizes, places);
    Error *error = size ? NULL : no_size(e, places);
    pid_t child = 0;
    if (!error && steps >= 0)
        log_info("elastic: start %" PRId64 ", on %" PRId64 " ranks, accumulation %" PRId64
                 ", from the checkpoint after step %" PRId64,
                 number, size->ranks, size->accumulation, steps);
    else if (!error)
        log_info("elastic: start %" PRId64 ", on %" PRId64 " ranks, accumulation %" PRId64, number,
                 size->ranks, size->accumulation);
    if (!error) error = start(words_of(e, a, size, hosts), false, &child);
    if (!error) *status = wait_for(child, 0, !e->n_hosts);
    arena_free(a);
    return error;
}

/* ---- all of them ---- */

static Error *ended(int status)
{
    if (status == 0) return NULL;
    if (status == EXIT_STOPPED || signal_stop_requested()) return error_silent(EXIT_STOPPED);
    return error_silent(status == 2 ? 2 : 1);
}

static Error *run_all(const Elastic *e)
{
    for (int64_t number = 1, vain = 0, vain_deaths = 0;; number++) {
        int status = 1;
        const int64_t before = saved_steps(e);
        TRY(run_once(e, number, &status));
        const bool is_death = status > 128;
        if (status == CANNOT_START)
            return error_new("mpirun cannot be started: is it installed, and in PATH?");
        if (status == 0 || status == EXIT_STOPPED || status == 2 || signal_stop_requested())
            return ended(status);
        const bool is_further = saved_steps(e) > before;
        vain = is_further || is_death ? 0 : vain + 1;
        vain_deaths = is_further ? 0 : vain_deaths + 1;
        if (vain == MOST_VAIN_STARTS || vain_deaths == MOST_VAIN_DEATHS)
            return error_new("the job ended %" PRId64
                             " times without a further checkpoint, the last time with status %d: "
                             "it is given up",
                             vain_deaths, status);
        log_warning("the job ended with status %d%s; it is started again", status,
                    is_death ? ": a rank was killed" : "");
    }
}

Error *elastic_run(Arena *a, const ElasticJob *job)
{
    Elastic e = { .arena = a,
                  .job = job,
                  .folder = experiment_folder(a, job->experiments_root_path, job->experiment_id) };
    Text sizes = { 0 };
    TRY(elastic_sizes(a, job->registry, job->config_file_path, job->experiments_root_path,
                      job->overrides, job->n_ranks, &e.sizes));
    TRY(read_hosts(&e));
    elastic_describe(&e.sizes, &sizes);
    log_info("elastic: %" PRId64 " samples per step fit on %s ranks", e.sizes.samples_per_step,
             sizes.ptr);
    text_free(&sizes);
    if (!elastic_largest(&e.sizes, job->n_ranks)) return no_size(&e, job->n_ranks);
    signal_catch();
    return run_all(&e);
}
