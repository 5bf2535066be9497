/* rank.c - the place of a process among the ranks of its job. */
#include "base/rank.h"
#include "base/environment.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

const Rank rank_alone = { .world_size = 1, .local_world_size = 1 };

static const char *text_of(const char *name)
{
    const char *text = environment_get(name);
    return text && *text ? text : NULL;
}

/* Sets *value where the variable is set. */
static Error *read_number(const char *name, int64_t least, int64_t *value, bool *is_set)
{
    const char *text = text_of(name);
    char *end;
    if (!text) return NULL;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*end || end == text || errno)
        return error_new("the environment variable %s is \"%s\", an integer is needed", name, text);
    if (n < least)
        return error_new("the environment variable %s is \"%s\"; it must be at least %lld", name,
                         text, (long long)least);
    *value = n;
    *is_set = true;
    return NULL;
}

static Error *check_within(const char *name, int64_t rank, const char *size_name, int64_t size)
{
    if (rank < size) return NULL;
    return error_new("the environment variable %s is \"%lld\"; with %s=%lld it must be 0 to %lld",
                     name, (long long)rank, size_name, (long long)size, (long long)size - 1);
}

static Error *read_numbers(Rank *r, bool *has_any)
{
    bool has_rank = false, has_local = false, has_world = false, has_local_world = false;
    TRY(read_number("RANK", 0, &r->rank, &has_rank));
    TRY(read_number("LOCAL_RANK", 0, &r->local_rank, &has_local));
    TRY(read_number("WORLD_SIZE", 1, &r->world_size, &has_world));
    TRY(read_number("LOCAL_WORLD_SIZE", 1, &r->local_world_size, &has_local_world));
    if (has_world && has_rank) TRY(check_within("RANK", r->rank, "WORLD_SIZE", r->world_size));
    if (has_local_world)
        TRY(check_within("LOCAL_RANK", r->local_rank, "LOCAL_WORLD_SIZE", r->local_world_size));
    else if (r->world_size > 1)
        r->local_world_size = 0;
    if (r->local_world_size > r->world_size)
        return error_new("LOCAL_WORLD_SIZE is %lld, but WORLD_SIZE is only %lld",
                         (long long)r->local_world_size, (long long)r->world_size);
    *has_any = has_rank || has_local || has_world || has_local_world;
    return NULL;
}

Error *rank_of_process(Rank *out)
{
    bool has_any = false;
    *out = rank_alone;
    TRY(read_numbers(out, &has_any));
    out->master_address = text_of("MASTER_ADDR");
    out->master_port = text_of("MASTER_PORT");
    if (has_any)
        out->launcher = text_of("TORCHELASTIC_RUN_ID") ? LAUNCHER_TORCHRUN : LAUNCHER_VARIABLES;
    return NULL;
}
