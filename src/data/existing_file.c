/* existing_file.c - the policies for files that are already there. */
#include "data/existing_file.h"
#include "base/file.h"
#include "base/log.h"

const char *const existing_policies[] = { "skip", "error", "override", NULL };

Error *existing_report(const char *path, bool (*is_ours)(Str content), const char *kind)
{
    FileMap map;
    if (!file_exists(path)) return NULL;
    if (is_directory(path)) return error_new("%s is a folder", path);
    TRY(file_map(path, &map));
    bool replaces = !map.len || is_ours((Str){ map.ptr, map.len });
    file_unmap(&map);
    return replaces
               ? NULL
               : error_new("%s is there already and is not %s; it is not replaced", path, kind);
}

Error *existing_file(const char *path, ExistingPolicy policy, bool *write)
{
    *write = true;
    if (!path || !file_exists(path)) return NULL;
    if (is_directory(path))
        return error_new("%s is a folder; a file should be written there", path);
    switch (policy) {
    case EXISTING_SKIP:
        log_warning("File already exists at %s. Skipping ...", path);
        *write = false;
        return NULL;
    case EXISTING_OVERRIDE:
        log_warning("File already exists at %s. Overriding it.", path);
        return NULL;
    default:
        return error_new(
            "File already exists. Delete it or specify different output folder. (%s; or use "
            "--file_existence_policy skip|override)",
            path);
    }
}
