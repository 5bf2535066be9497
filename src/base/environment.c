/* environment.c - the table of environment variables. */
#include "base/environment.h"
#include "base/error.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const EnvironmentVariable environment_variables[] = {
    { "MODALITIES_THREADS", "threads where --threads does not say it; by default one per core. Results do not depend on it." },
    { "MODALITIES_CPU", "scalar, avx2, avx512, avx512_bf16, avx512_pairs or amx: the instruction set of the kernels, at most what the CPU has." },
    { "MODALITIES_DEVICE", "where --device does not say it: cpu, cuda or cuda:N; or fenced: the CPU as if its memory were a GPU's and its work were done late, for tests." },
    { "MODALITIES_MEMORY_LIMIT", "bytes that a plan may take, instead of the memory that is free; word caches of tokenizers take an eighth of it at most." },
    { "MODALITIES_PART_BYTES", "bytes that a data command writes until a further part of its output is finished, after which it goes on after an interruption; by default 128 MiB, or what ten seconds bring." },
    { "MODALITIES_COMM_TIMEOUT", "seconds for which a rank waits for another one in a call before both are reported as hanging, where settings.comm_timeout does not say it; by default 600." },
    { "RANK", "this process among all, from 0; ${cuda_env:RANK}. Without a launcher 0." },
    { "LOCAL_RANK", "this process on its machine, from 0; ${cuda_env:LOCAL_RANK}. Without a launcher 0." },
    { "WORLD_SIZE", "number of processes; ${cuda_env:WORLD_SIZE}. Without a launcher 1." },
    { "LOCAL_WORLD_SIZE", "number of processes on this machine. Without a launcher 1." },
    { "MASTER_ADDR", "machine of the process with RANK 0; with the three that follow, what tells jobs on one machine apart." },
    { "MASTER_PORT", "a port there." },
    { "TORCHELASTIC_RUN_ID", "the job's name, as torchrun sets it." },
    { "TORCHELASTIC_RESTART_COUNT", "how often torchrun has started the processes again." },
    { "OMPI_COMM_WORLD_RANK", "with the three that follow, the same under mpirun of Open MPI." },
    { "OMPI_COMM_WORLD_SIZE", "number of processes." },
    { "OMPI_COMM_WORLD_LOCAL_RANK", "this process on its machine." },
    { "OMPI_COMM_WORLD_LOCAL_SIZE", "number of processes on this machine." },
    { "PMIX_RANK", "the same under srun --mpi=pmix, with those of Slurm that follow." },
    { "SLURM_PROCID", "this process among all." },
    { "SLURM_STEP_NUM_TASKS", "number of processes." },
    { "SLURM_LOCALID", "this process on its machine." },
    { "SLURM_STEP_TASKS_PER_NODE", "numbers of processes, as 4(x2),3." },
    { "SLURM_NODEID", "this machine among all." },
    { "PMI_RANK", "the same under mpiexec of MPICH, with the three that follow." },
    { "PMI_SIZE", "number of processes." },
    { "MPI_LOCALRANKID", "this process on its machine." },
    { "MPI_LOCALNRANKS", "number of processes on this machine." },
    { "MODALITIES_CUDA", "the library that brings GPUs to this program, instead of modalities-cuda.so beside it." },
    { "MODALITIES_CUDA_CACHE", "folder that keeps, for all runs on GPUs, the algorithms of products that were found; off: none does. Not set: modalities/ in XDG_CACHE_HOME, or in .cache/ of HOME." },
    { "MODALITIES_CUDA_GRAPH", "off: the kernels of a step are given to a GPU one by one, and not as one graph." },
    { "MODALITIES_CUDA_MMA", "off: experts' products on a GPU are made by plain kernels instead of those for tensor cores." },
    { "MODALITIES_CUDNN", "MiB of scores that a gradient of attention may have at a time on a GPU (1024); off: without cuDNN." },
    { "MODALITIES_CUDA_PATH", "folders, with : between them, in which CUDA's own libraries are looked for first." },
    { "CUDA_HOME", "where CUDA is installed; its libraries are looked for in lib64/ of it." },
    { "VIRTUAL_ENV", "a Python environment whose packages nvidia-* may bring CUDA's libraries." },
    { "MODALITIES_MPI", "the library that binds this program to MPI, instead of modalities-mpi.so beside it." },
    { "HF_HUB_CACHE", "the folder of models that Hugging Face's programs have fetched." },
    { "HF_HOME", "where that is not set: the folder in which it is hub/." },
    { "XDG_CACHE_HOME", "where neither is set: the folder in which it is huggingface/hub/; and modalities/ for algorithms of GPUs." },
    { "HOME", "where none is set: it is .cache/huggingface/hub/ in there, and .cache/modalities/." },
    { "TERM", "\"dumb\" or nothing: progress comes as lines, as where there is no terminal." },
    { "COLUMNS", "width of the output where there is no terminal." },
    { "NO_COLOR", "anything but empty: curves of several runs and the warnings of a training's report have no colours." },
    { "LC_ALL", "with UTF-8 in it: boxes and bars are drawn with Unicode." },
    { "LC_CTYPE", "where LC_ALL is not set." },
    { "LANG", "where neither is set." },
    { NULL, NULL },
};
/* clang-format on */

/* A whole number in [lo, hi]. */
static Error *check_number(const char *name, int64_t lo, int64_t hi)
{
    const char *set = getenv(name);
    char *end;
    if (!set || !*set) return NULL;
    errno = 0;
    long long n = strtoll(set, &end, 10);
    if (end != set && !*end && !errno && n >= lo && n <= hi) return NULL;
    return error_usage("the environment variable %s is \"%s\"; allowed: an integer, %lld to %lld",
                       name, set, (long long)lo, (long long)hi);
}

Error *environment_check(void)
{
    TRY(check_number("MODALITIES_THREADS", 1, 512));
    TRY(check_number("MODALITIES_MEMORY_LIMIT", 1, INT64_MAX));
    TRY(check_number("MODALITIES_COMM_TIMEOUT", 1, 1000000));
    return check_number("MODALITIES_PART_BYTES", 1, INT64_MAX);
}

const char *environment_get(const char *name)
{
    const EnvironmentVariable *v = environment_variables;
    while (v->name && strcmp(v->name, name)) v++;
    CHECK(v->name != NULL);
    return getenv(name);
}
