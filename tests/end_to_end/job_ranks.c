/* job_ranks.c - the processes of a job, so that tests can kill one of them. */
#include "end_to_end/job_ranks.h"
#include "test.h"
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t find_child(pid_t of, int which)
{
    DIR *d = opendir("/proc");
    pid_t found = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        char path[64], line[512], *end;
        int parent = 0;
        char state = 0;
        if (!isdigit((unsigned char)e->d_name[0])) continue;
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f) && (end = strrchr(line, ')')) &&
            sscanf(end + 1, " %c %d", &state, &parent) == 2 && parent == of && state != 'Z' &&
            which-- == 0)
            found = (pid_t)strtol(e->d_name, NULL, 10);
        if (f) fclose(f);
    }
    closedir(d);
    return found;
}

void end_hanging_job(pid_t mpirun)
{
    siginfo_t info = { 0 };
    for (int without = 0; without < 50; usleep(100 * 1000)) {
        assert_int_equal(waitid(P_PID, (id_t)mpirun, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        if (info.si_pid) return;
        without = find_child(mpirun, 0) ? 0 : without + 1;
    }
    kill(mpirun, SIGKILL);
}
