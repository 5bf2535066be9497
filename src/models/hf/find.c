/* find.c - names of models in the local cache of Hugging Face: models--owner--name/refs/main
 * holds the revision, snapshots/<revision> its files. */
#include "base/environment.h"
#include "base/file.h"
#include "models/hf/config.h"
#include <string.h>

static const char *cache_folder(Arena *a)
{
    const char *hub = environment_get("HF_HUB_CACHE"), *home = environment_get("HF_HOME"),
               *cache = environment_get("XDG_CACHE_HOME"), *user = environment_get("HOME");
    if (hub && *hub) return hub;
    if (home && *home) return path_join(a, home, "hub");
    if (cache && *cache) return path_join(a, cache, "huggingface/hub");
    return path_join(a, user && *user ? user : ".", ".cache/huggingface/hub");
}

/* "owner/name" as "models--owner--name". */
static const char *cached_name(Arena *a, const char *name)
{
    Text t = { 0 };
    text_puts(&t, "models--");
    for (const char *p = name; *p; p++) {
        if (*p == '/')
            text_puts(&t, "--");
        else
            text_putc(&t, *p);
    }
    const char *s = arena_string(a, t.ptr);
    text_free(&t);
    return s;
}

Error *hf_find(Arena *a, const char *name, const char **folder)
{
    *folder = name;
    if (is_directory(name)) return NULL;
    const char *cache = cache_folder(a), *place = path_join(a, cache, cached_name(a, name));
    if (!is_directory(place))
        return error_new("%s: there is no such folder, and no model of that name in the cache %s; "
                         "nothing is downloaded",
                         name, cache);
    Str revision;
    const char *ref = path_join(a, place, "refs/main");
    TRY(error_wrap(file_read(a, ref, &revision), "%s in the cache %s", name, cache));
    size_t n = revision.len;
    while (n > 0 && strchr(" \t\r\n", revision.ptr[n - 1])) n--;
    const char *snapshots = path_join(a, place, "snapshots");
    *folder = path_join(a, snapshots, arena_string_n(a, revision.ptr, n));
    if (is_directory(*folder)) return NULL;
    return error_new("%s: %s names the revision %.*s, but there is no folder %s", name, ref, (int)n,
                     revision.ptr, *folder);
}
