/* runner.c - runs every registered test in a process of its own, several at a time.
 *
 * usage: tests [--list] [--show] [--times] [--again] [--jobs N] [--timeout S]
 * [--without PATTERN|@FILE] [pattern ...] A pattern is matched against "file:name"; FILE has one
 * per line, and # begins a comment. A pattern to leave out that names no test is an error. --times
 * prints what processor time each test took; --again runs what failed once more, alone, and calls
 * it unsteady if it then passes, but not what a sanitizer found. A test that crashes, hangs or
 * exits fails alone; the output of a test is shown when it fails, or at once with --show. */
#include "base/clock.h"
#include "test.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_JOBS = 64 };

static double timeout_s = 300;
enum { MOST_WITHOUT = 1024 };
static const char *without[MOST_WITHOUT]; /* tests to leave out */
static int n_without;
static bool shows_output, shows_times;
static const TestCase *failures[5]; /* the first ones that may be run again */
static int n_failures;

static TestCase *tests;

/* Those of many seconds begin first, so that none goes on long after the others. */
static const char *const longest[] = {
    "scripts_of_the_warm_start_work_with_the_real_vocabulary",
    "scripts_of_getting_started_work_with_the_real_vocabulary",
    "notebook_with_its_real_vocabulary_runs_as_printed",
    "every_rank_of_the_recipes_fits_into_80_gb",
    "golden_corpora_have_the_checksums_of_the_library",
};

/* Written by the child, read by the parent. */
typedef struct Outcome {
    bool passed, skipped;
    char reason[200]; /* why it was skipped, or a note */
} Outcome;

typedef struct Job {
    const TestCase *test;
    pid_t pid;
    FILE *output;
    double started;
    char folder[64];
} Job;

static Outcome *outcome; /* of this process's test */
static char folder[64];

void test_register(TestCase *t)
{
    TestCase **at = &tests;
    while (*at && (strcmp((*at)->file, t->file) < 0 || !strcmp((*at)->file, t->file)))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

static void begin_with(const char *name)
{
    TestCase **at = &tests;
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    TestCase *t = *at;
    if (!t) return; /* a program with few of the tests, as plugins/cuda.mk has one */
    *at = t->next;
    t->next = tests;
    tests = t;
}

void test_skip(const char *reason)
{
    outcome->skipped = true;
    snprintf(outcome->reason, sizeof outcome->reason, "%s", reason);
    skip();
    abort();
}

void test_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(outcome->reason, sizeof outcome->reason, fmt, args);
    va_end(args);
}

int64_t test_share(int64_t n)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    int64_t share = (n + 9) / 10;
    test_note("%lld of %lld cases, a tenth: built with a sanitizer", (long long)share,
              (long long)n);
    return share;
#else
    return n;
#endif
}

const char *shared_path(Arena *a, const char *below)
{
    const char *root = getenv("MODALITIES_SHARED") ? getenv("MODALITIES_SHARED") : "../shared";
    if (!is_directory(root)) test_skip("../shared is not here");
    return path_join(a, path_absolute(a, root), below);
}

const char *test_folder(void)
{
    assert_no_error(make_directories(folder));
    return folder;
}

const char *program_path(void)
{
    const char *set = getenv("MODALITIES_PROGRAM");
    return set ? set : "build/modalities";
}

const char *test_tool(Arena *a, const char *name)
{
    char self[4096] = { 0 };
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    return path_join(a, path_folder(a, self), name);
}

void assert_no_error(Error *e)
{
    if (!e) return;
    fail_msg("unexpected error: %s", error_text(e));
}

void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" is missing in \"%s\"", part, text);
}

void assert_error_has(Error *e, const char *part)
{
    if (!e) fail_msg("no error, expected one with \"%s\"", part);
    assert_contains(error_text(e), part);
    error_free(e);
}

void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.17g and %.17g differ by more than %g", a, b, tolerance);
}

static void (*current)(void);

static void run_current(void **state)
{
    (void)state;
    current();
}

/* A shell's background jobs and nohup ignore some signals, and the program would go on ignoring
 * them. */
static void heed_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], SIG_DFL);
}

static void child_main(const TestCase *t, FILE *output, Outcome *to)
{
    if (!shows_output) {
        dup2(fileno(output), 1);
        dup2(fileno(output), 2);
    }
    outcome = to;
    current = t->run;
    if (t->device) setenv("MODALITIES_DEVICE", t->device, 1);
    setenv("MODALITIES_CUDA_CACHE", "off", 1); /* no test depends on runs before it */
    setpgid(0, 0);
    heed_signals();
    const struct CMUnitTest one[] = { { t->name, run_current, NULL, NULL, NULL } };
    int failed = cmocka_run_group_tests_name(t->name, one, NULL, NULL);
    to->passed = failed == 0 && !to->skipped;
    fflush(NULL);
    if (to->skipped) _exit(0); /* in its middle, where it has freed nothing */
    exit(failed != 0);         /* exit, not _exit: leak checkers report at exit */
}

static void start(Job *j, const TestCase *t, Outcome *to)
{
    static int count;
    *j = (Job){ .test = t, .output = tmpfile(), .started = clock_seconds() };
    CHECK(j->output != NULL);
    snprintf(folder, sizeof folder, "/tmp/modalities-test-%d-%d", (int)getpid(), count++);
    strcpy(j->folder, folder);
    fflush(NULL);
    j->pid = fork();
    CHECK(j->pid >= 0);
    if (j->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test does not outlive its runner */
        child_main(t, j->output, to);
    }
}

/* Returns whether a sanitizer had something to say. */
static bool show_output(FILE *f)
{
    char line[4096];
    bool found = false;
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        printf("    %s", line);
        found |= strstr(line, "ERROR: AddressSanitizer") ||
                 strstr(line, "WARNING: ThreadSanitizer") ||
                 strstr(line, "runtime error:"); /* leaks follow from failing */
    }
    return found;
}

/* Waits for one job to end and returns its index. */
static int wait_any(Job *job, int n, int *status, double *processor_s)
{
    for (;;) {
        for (int i = 0; i < n; i++) {
            if (!job[i].test) continue;
            struct rusage used;
            if (wait4(job[i].pid, status, WNOHANG, &used) == job[i].pid) {
                *processor_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
                return i;
            }
            if (clock_seconds() - job[i].started > timeout_s) kill(-job[i].pid, SIGKILL);
        }
        usleep(1000);
    }
}

typedef struct Tally {
    int passed, failed, skipped;
} Tally;

static void finish(Job *j, int status, double processor_s, const Outcome *o, Tally *tally)
{
    double took = clock_seconds() - j->started;
    bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (o->skipped && clean) {
        tally->skipped++;
        printf("skip  %s:%s: %s\n", j->test->file, j->test->name, o->reason);
    } else if (o->passed && clean) {
        tally->passed++;
        if (*o->reason) printf("note  %s:%s: %s\n", j->test->file, j->test->name, o->reason);
        if (took > 5) printf("slow  %s:%s (%.1f s)\n", j->test->file, j->test->name, took);
    } else {
        tally->failed++;
        printf("FAIL  %s:%s", j->test->file, j->test->name);
        if (WIFSIGNALED(status)) printf(" (%s after %.1f s)", strsignal(WTERMSIG(status)), took);
        printf("\n");
        const bool is_found = show_output(j->output);
        if (!is_found && n_failures < (int)(sizeof failures / sizeof *failures))
            failures[n_failures++] = j->test;
    }
    if (shows_times) printf("time  %s:%s %.2f s\n", j->test->file, j->test->name, processor_s);
    fflush(stdout);
    fclose(j->output);
    error_free(remove_tree(j->folder));
    j->test = NULL;
}

static bool is_named(const TestCase *t, const char *pattern)
{
    char name[512], wide[512];
    snprintf(name, sizeof name, "%s:%s", t->file, t->name);
    snprintf(wide, sizeof wide, "*%s*", pattern);
    return text_matches(wide, name);
}

static bool selected(const TestCase *t, char **pattern, int n)
{
    for (int i = 0; i < n_without; i++)
        if (is_named(t, without[i])) return false;
    for (int i = 0; i < n; i++)
        if (is_named(t, pattern[i])) return true;
    return n == 0;
}

static bool leaves_out(const char *pattern)
{
    const TestCase *t = tests;
    while (t && !is_named(t, pattern)) t = t->next;
    const bool is_right = t && n_without < MOST_WITHOUT;
    if (is_right)
        without[n_without++] = pattern;
    else
        fprintf(stderr, "tests: --without %s %s\n", pattern,
                t ? "is one pattern too many" : "names no test");
    return is_right;
}

static bool leaves_out_those_of(const char *path)
{
    static char text[65536]; /* the patterns stay here */
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    const bool is_whole = f && feof(f);
    if (f) fclose(f);
    if (!is_whole) return fprintf(stderr, "tests: %s cannot be read as a whole\n", path), false;
    text[n] = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] != '#' && !leaves_out(line)) return false;
    return true;
}

/* Runs the few that failed once more, alone: one that passes now depends on what ran beside it. */
static void run_again(Job *job, Outcome *slot, Tally *tally)
{
    const int n = n_failures;
    if (tally->failed > (int)(sizeof failures / sizeof *failures)) return;
    for (int k = 0; k < n; k++) {
        const TestCase *t = failures[k];
        const int before = --tally->failed;
        int status;
        double processor_s;
        *slot = (Outcome){ 0 };
        start(job, t, slot);
        wait_any(job, 1, &status, &processor_s);
        finish(job, status, processor_s, slot, tally);
        if (tally->failed == before)
            printf("unsteady  %s:%s failed beside other tests and passed alone\n", t->file,
                   t->name);
    }
}

int main(int argc, char **argv)
{
    /* half as many again as processors: many wait for other processes */
    int n_jobs = (int)sysconf(_SC_NPROCESSORS_ONLN) * 3 / 2, i = 1;
    bool list = false, again = false;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--show"))
            shows_output = true;
        else if (!strcmp(argv[i], "--times"))
            shows_times = true;
        else if (!strcmp(argv[i], "--again"))
            again = true;
        else if (!strcmp(argv[i], "--jobs") && i + 1 < argc)
            n_jobs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--timeout") && i + 1 < argc)
            timeout_s = atof(argv[++i]);
        else if (!strcmp(argv[i], "--without") && i + 1 < argc) {
            const char *pattern = argv[++i];
            if (!(pattern[0] == '@' ? leaves_out_those_of(pattern + 1) : leaves_out(pattern)))
                return 2;
        } else
            return fprintf(stderr, "usage: tests [--list] [--show] [--times] [--again] [--jobs N] "
                                   "[--timeout S] "
                                   "[--without PATTERN|@FILE] [pattern ...]\n"),
                   2;
    }
    for (size_t k = sizeof longest / sizeof *longest; k > 0; k--) begin_with(longest[k - 1]);
    if (n_jobs < 1) n_jobs = 1;
    if (n_jobs > MAX_JOBS) n_jobs = MAX_JOBS;
    Job job[MAX_JOBS] = { 0 };
    Outcome *slot = mmap(NULL, sizeof *slot * MAX_JOBS, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(slot != MAP_FAILED);
    Tally tally = { 0 };
    int running = 0, status;
    double processor_s;
    for (const TestCase *t = tests; t; t = t->next) {
        if (!selected(t, argv + i, argc - i)) continue;
        if (list) {
            printf("%s:%s\n", t->file, t->name);
            continue;
        }
        int at = 0;
        if (running == n_jobs) {
            at = wait_any(job, n_jobs, &status, &processor_s);
            finish(&job[at], status, processor_s, &slot[at], &tally);
            running--;
        } else {
            while (job[at].test) at++;
        }
        slot[at] = (Outcome){ 0 };
        start(&job[at], t, &slot[at]);
        running++;
    }
    for (; running; running--) {
        int at = wait_any(job, n_jobs, &status, &processor_s);
        finish(&job[at], status, processor_s, &slot[at], &tally);
    }
    if (again) run_again(job, slot, &tally);
    if (!list)
        printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed != 0;
}
