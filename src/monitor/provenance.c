/* provenance.c - the program, the machine and the files of a run, as JSON. */
#include "monitor/provenance.h"
#include "base/block_sum.h"
#include "base/cpu.h"
#include "base/json.h"
#include "base/version.h"
#include "config/yaml.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { SUMMED_BLOCK = 1 << 20, SUMMED_BLOCKS = 256 };

FileSum file_sum(Arena *a, const char *path)
{
    FileMap m;
    struct stat st;
    uint64_t sum = 0;
    bool is_file = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    Error *e = is_file ? file_map(path, &m) : NULL;
    if (e || !is_file) {
        error_free(e);
        return (FileSum){ .path = arena_string(a, path), .bytes = -1, .sum = "" };
    }
    const size_t whole = (size_t)SUMMED_BLOCK * SUMMED_BLOCKS;
    for (size_t i = 0; i < SUMMED_BLOCKS; i++) {
        size_t at =
            m.len <= whole ? i * SUMMED_BLOCK : (m.len - SUMMED_BLOCK) / (SUMMED_BLOCKS - 1) * i;
        if (m.len > whole && i == SUMMED_BLOCKS - 1) at = m.len - SUMMED_BLOCK;
        if (at >= m.len) break;
        size_t n = m.len - at < SUMMED_BLOCK ? m.len - at : SUMMED_BLOCK;
        sum = block_sum_add(sum, block_sum(m.ptr + at, n));
    }
    const FileSum out = { .path = arena_string(a, path),
                          .bytes = (int64_t)m.len,
                          .sum = arena_printf(a, "%016" PRIx64, sum) };
    file_unmap(&m);
    return out;
}

static bool has(const PathList *l, const char *path)
{
    for (int64_t i = 0; i < l->n; i++)
        if (!strcmp(l->item[i], path)) return true;
    return false;
}

/* Absolute, each once; what lies below folders. */
static PathList all_files(Arena *a, const PathList *named)
{
    PathList all = { 0 };
    for (int64_t i = 0; i < named->n; i++) {
        const char *path = path_absolute(a, named->item[i]);
        if (has(&all, path)) continue;
        if (is_directory(path)) {
            error_free(files_below(a, path, "", &all)); /* what cannot be read has no sum */
            continue;
        }
        all.item = arena_grow(a, all.item, all.n, &all.cap, sizeof *all.item);
        all.item[all.n++] = path;
    }
    return all;
}

Provenance provenance_of_process(Arena *a, const PathList *files)
{
    PathList all = all_files(a, files);
    Provenance p = { .version = PROGRAM_VERSION,
                     .program = file_sum(a, "/proc/self/exe").sum,
                     .instruction_set = cpu_level_name(cpu_level_in_use()),
                     .device = "",
                     .config = "",
                     .ranks = 1,
                     .file = NEW_N(a, FileSum, all.n + 1),
                     .n_files = all.n };
    for (int64_t i = 0; i < all.n; i++) p.file[i] = file_sum(a, all.item[i]);
    return p;
}

static void put(Text *out, const char *key, const char *value)
{
    text_printf(out, "  \"%s\": ", key);
    text_json_path(out, value);
    text_puts(out, ",\n");
}

Error *provenance_write(const char *folder, const Provenance *p)
{
    Arena *a = arena_new();
    Text t = { 0 };
    text_puts(&t, "{\n");
    put(&t, "version", p->version);
    put(&t, "program", p->program);
    put(&t, "instruction_set", p->instruction_set);
    put(&t, "device", p->device);
    put(&t, "config", p->config);
    text_printf(&t, "  \"ranks\": %" PRId64 ",\n  \"files\": [", p->ranks);
    for (int64_t i = 0; i < p->n_files; i++) {
        text_printf(&t, "%s\n    {\"path\": ", i ? "," : "");
        text_json_path(&t, p->file[i].path);
        text_printf(&t, ", \"bytes\": %" PRId64 ", \"sum\": \"%s\"}", p->file[i].bytes,
                    p->file[i].sum);
    }
    text_puts(&t, "\n  ]\n}\n");
    Error *e = file_write_unsynced(path_join(a, folder, PROVENANCE), t.ptr, t.len);
    text_free(&t);
    arena_free(a);
    return e;
}

Error *provenance_read(Arena *a, const char *folder, Provenance *out)
{
    Yaml *y;
    TRY(yaml_read_json(a, path_join(a, folder, PROVENANCE), &y));
    const Yaml *files = yaml_get(y, "files");
    int64_t n = files && files->type == YAML_LIST ? files->n : 0;
    *out = (Provenance){ .version = yaml_text_at(y, "version"),
                         .program = yaml_text_at(y, "program"),
                         .instruction_set = yaml_text_at(y, "instruction_set"),
                         .device = yaml_text_at(y, "device"),
                         .config = yaml_text_at(y, "config"),
                         .ranks = yaml_int_at(y, "ranks", -1),
                         .file = NEW_N(a, FileSum, n + 1),
                         .n_files = n };
    for (int64_t i = 0; i < n; i++)
        out->file[i] = (FileSum){ .path = yaml_text_at(files->item[i], "path"),
                                  .bytes = yaml_int_at(files->item[i], "bytes", -1),
                                  .sum = yaml_text_at(files->item[i], "sum") };
    return NULL;
}

static int64_t differ(const char *what, const char *then, const char *now, Text *out)
{
    if (!strcmp(then, now)) return 0;
    text_printf(out, "  %s: then %s, now %s\n", what, then, now);
    return 1;
}

static int64_t file_differs(const FileSum *then, const FileSum *now, Text *out)
{
    if (now->bytes < 0 && then->bytes >= 0)
        text_printf(out, "  %s: it is not there any more\n", then->path);
    else if (now->bytes != then->bytes)
        text_printf(out, "  %s: then %" PRId64 " bytes, now %" PRId64 "\n", then->path, then->bytes,
                    now->bytes);
    else if (strcmp(now->sum, then->sum) != 0)
        text_printf(out, "  %s: other bytes than then\n", then->path);
    else
        return 0;
    return 1;
}

int64_t provenance_differences(const Provenance *then, const Provenance *now, Text *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < then->n_files; i++)
        for (int64_t k = 0; k < now->n_files; k++)
            if (!strcmp(then->file[i].path, now->file[k].path))
                n += file_differs(&then->file[i], &now->file[k], out);
    if (strcmp(then->config, now->config) != 0) {
        text_puts(out, "  the configuration is another one\n");
        n++;
    }
    if (then->ranks != now->ranks) {
        text_printf(out, "  ranks: then %" PRId64 ", now %" PRId64 "\n", then->ranks, now->ranks);
        n++;
    }
    n += differ("device", then->device, now->device, out);
    n += differ("instruction set", then->instruction_set, now->instruction_set, out);
    int64_t n_program = differ("version of the program", then->version, now->version, out);
    if (!n_program && strcmp(then->program, now->program) != 0) {
        text_printf(out, "  the program: version %s, but another build of it\n", now->version);
        n_program++;
    }
    return n + n_program;
}
