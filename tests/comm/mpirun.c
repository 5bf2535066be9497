/* mpirun.c - jobs of processes under mpirun, in tests. */
#include "mpirun.h"
#include "cli/command_line.h"
#include "test.h"
#include <stdlib.h>
#include <unistd.h>

/* Open MPI itself is not built for the sanitizers. */
void mpirun_prepare(Arena *a)
{
    const char *library = test_tool(a, "../modalities-mpi.so"), *output;
    if (shell_run(a, "command -v mpirun", &output) != 0) test_skip("there is no mpirun");
    if (access(library, R_OK) != 0) test_skip("modalities-mpi.so is not built: make mpi");
    setenv("MODALITIES_MPI", path_absolute(a, library), 1);
    /* jobs that begin at the same moment would make the same folder below /tmp */
    setenv("OMPI_MCA_orte_tmpdir_base", path_absolute(a, test_folder()), 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    setenv("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 exitcode=66", 1);
}
