/* mock_ranges.c - a profiler that NVTX finds in the mock (NVTX_INJECTION64_PATH): writes how deep
 * each range lies and its name into the file that MODALITIES_MOCK_RANGES names. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *out;
static _Thread_local int depth;

static int begin(const nvtxEventAttributes_t *range)
{
    fprintf(out, "%d %s %lld\n", depth, range->message.ascii, (long long)range->payload.llValue);
    fflush(out);
    return depth++;
}

static int end(void)
{
    return --depth;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned n = 0;
    const char *path = getenv("MODALITIES_MOCK_RANGES");
    out = path ? fopen(path, "w") : NULL;
    if (!out || !callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &n) ||
        n <= NVTX_CBID_CORE_RangePop)
        return 0;
    *(int (**)(const nvtxEventAttributes_t *))(void *)table[NVTX_CBID_CORE_RangePushEx] = begin;
    *(int (**)(void))(void *)table[NVTX_CBID_CORE_RangePop] = end;
    return 1;
}
