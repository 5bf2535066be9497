/* sweep_slurm.c - writes the scripts of job arrays. */
#include "sweep/sweep_slurm.h"
#include "base/file.h"
#include "base/log.h"
#include "sweep/sweep_runs.h"
#include <string.h>

static void put_quoted(Text *t, const char *s)
{
    text_putc(t, '\'');
    for (; *s; s++)
        if (*s == '\'')
            text_puts(t, "'\\''");
        else
            text_putc(t, *s);
    text_puts(t, "'");
}

static Error *write_script(Arena *a, const char *folder, const SweepRuns *runs, int64_t world_size)
{
    const char *path = arena_printf(a, "%s/sweep_%lld.sbatch", folder, (long long)world_size);
    Text t = { 0 };
    int64_t n = 0;
    for (int64_t i = 0; i < runs->n; i++) n += runs->item[i].world_size == world_size;
    text_printf(&t,
                "#!/bin/bash\n"
                "# A task for each configuration of the sweep. Submit it again after a time limit: "
                "what is done ends at once, the rest goes on.\n"
                "#SBATCH --job-name=sweep\n"
                "#SBATCH --array=0-%lld\n"
                "#SBATCH --ntasks=%lld\n"
                "#SBATCH --signal=B:TERM@120\n"
                "#SBATCH --output=%%x_%%A_%%a.log\n"
                "configs=(\n",
                (long long)n - 1, (long long)world_size);
    for (int64_t i = 0; i < runs->n; i++) {
        if (runs->item[i].world_size != world_size) continue;
        put_quoted(&t, runs->item[i].config);
        text_putc(&t, '\n');
    }
    text_printf(&t,
                ")\n"
                "config=${configs[$SLURM_ARRAY_TASK_ID]}\n"
                "folder=$(dirname \"$config\")\n"
                "export MASTER_ADDR=$(hostname) MASTER_PORT=$((20000 + SLURM_JOB_ID %% 20000))\n"
                "srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID "
                "WORLD_SIZE=$SLURM_NTASKS exec modalities run --config_file_path \"$0\" "
                "--experiments_root_path \"$1\" --experiment_id \"\" --error_log_folder \"$1\" "
                "--resume_if_started' \"$config\" \"$folder\" &\n"
                "trap 'kill -TERM %%1' TERM\n"
                "wait; wait\n");
    Error *e = file_write(path, t.ptr, t.len);
    text_free(&t);
    if (!e) log_info("sbatch %s", path);
    return e;
}

Error *sweep_slurm_write(Arena *a, const char *folder)
{
    SweepRuns all;
    TRY(sweep_runs_find(a, folder, 0, &all));
    if (!all.n) return error_new("%s holds no configurations WORLD_SIZE/HASH_TIME/*.yaml", folder);
    const SweepRuns newest = sweep_runs_newest(a, &all);
    for (int64_t i = 0; i < newest.n; i++) {
        bool is_first = true;
        for (int64_t k = 0; k < i; k++)
            is_first &= newest.item[k].world_size != newest.item[i].world_size;
        if (is_first) TRY(write_script(a, folder, &newest, newest.item[i].world_size));
    }
    return NULL;
}
