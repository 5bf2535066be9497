/* checkpoint_name.c - the numbers in the name of a checkpoint folder, written and read back. */
#include "checkpoint/checkpoint_name.h"
#include "base/file.h"
#include "base/str.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char FORM[] =
    "eid_{experiment_id}-seen_steps_{S}-seen_tokens_{T}-target_steps_{TS}-target_tokens_{TT}";

char *checkpoint_name(Arena *a, const char *experiment_id, const CheckpointTotals *totals)
{
    return arena_printf(a,
                        "eid_%s-seen_steps_%" PRId64 "-seen_tokens_%" PRId64
                        "-target_steps_%" PRId64 "-target_tokens_%" PRId64,
                        experiment_id, totals->seen_steps, totals->seen_tokens,
                        totals->target_steps, totals->target_tokens);
}

const char *checkpoint_folder_of(Arena *a, const char *file)
{
    static const char *const kinds[] = { "-model-seen_steps_", "-optimizer-seen_steps_" };
    const char *name = path_name(file);
    for (int i = 0; i < 2 && str_ends(str_of(name), ".bin"); i++) {
        const char *at = strstr(name, kinds[i]), *rest = at ? strstr(at, "-seen_steps_") : NULL;
        if (rest)
            return arena_printf(a, "%.*s%.*s", (int)(at - file), file,
                                (int)(strlen(rest) - strlen(".bin")), rest);
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

Error *checkpoint_path_number(const char *path, const char *key, int64_t *out)
{
    const char *digits = NULL;
    size_t len = strlen(key);
    for (const char *at = strstr(path, key); at; at = strstr(at + len, key)) {
        if (!is_digit(at[len])) continue;
        if (digits)
            return error_usage(
                "%s: \"%s\" stands twice with a number in this path; the name of one "
                "checkpoint is expected: %s",
                path, key, FORM);
        digits = at + len;
    }
    if (!digits)
        return error_usage(
            "%s: no \"%s\" with a number in this path; the name of a checkpoint is expected: %s",
            path, key, FORM);
    errno = 0;
    *out = strtoll(digits, NULL, 10);
    if (errno) return error_usage("%s: the number after \"%s\" is too large", path, key);
    return NULL;
}
