/* run_config.c - reads, completes and checks the configuration of a run; keeps it in its folder. */
#include "train/run_config.h"
#include "base/file.h"
#include "base/sha256.h"
#include "checkpoint/checkpoint.h"
#include "config/field_paths.h"
#include "config/self_contained.h"
#include "config/yaml_emit.h"
#include "monitor/experiment.h"
#include "train/crew.h"
#include <string.h>

static Error *load_config(Arena *a, const RunSettings *s, RunConfig *c, Problems *unresolved)
{
    Yaml *checkpoint_paths = NULL;
    if (s->last_checkpoint_info_path) {
        /* first of all: what the YAML expects of it would only give further errors */
        TRY(checkpoint_check_info(s->last_checkpoint_info_path));
        TRY(yaml_read_json(a, s->last_checkpoint_info_path, &checkpoint_paths));
    }
    const ResolverContext context = { .rank = s->rank,
                                      .config_file_path = s->resume ? s->resume->config_file_path
                                                                    : s->config_file_path,
                                      .experiments_root_path = s->experiments_root_path,
                                      .experiment_id = c->experiment_id,
                                      .checkpoint_paths = checkpoint_paths };
    Yaml *written;
    TRY(config_read(a, s->config_file_path, s->overrides, &written));
    unresolved->arena = a;
    c->root = interpolate_with_holes(a, written, &context, unresolved);
    if (!unresolved->n) c->kept = config_self_contained(a, written, c->root);
    return training_config_complete(a, c->root, s->rank, s->experiments_root_path);
}

/* Results and caches are none of the files that the training reads. */
static Error *check_paths(Arena *a, const RunSettings *s, const RunConfig *c)
{
    PathRoles *roles = path_roles_new(a);
    path_roles_add(roles, PATH_READ, "--config_file_path", s->config_file_path);
    path_roles_add(roles, PATH_READ, "--initial_weights_path", s->initial_weights_path);
    path_roles_add(roles, PATH_READ, "--last_checkpoint_info_file_path",
                   s->last_checkpoint_info_path);
    builder_paths_add(roles, c->builder, training_config_fields);
    return path_roles_check(roles);
}

/* The configuration as experiment c->experiment_id. */
static Error *read_config(Arena *a, const RunSettings *s, const Registry *registry, RunConfig *c)
{
    TRY(experiment_id_check(c->experiment_id));
    Problems *unresolved = NEW(a, Problems);
    TRY(load_config(a, s, c, unresolved));
    c->builder = builder_new(a, registry, c->root, s->rank);
    builder_know(c->builder, unresolved);
    TRY(training_config_validate(c->builder, &c->config));
    return check_paths(a, s, c);
}

/* The same with an id of its own, which the configuration may name; a folder is made only if no
 * rank finds a mistake. */
static Error *read_config_for_new_id(Arena *a, const RunSettings *s, const Registry *registry,
                                     RunConfig *c)
{
    Consensus *together = crew_consensus(s->crew);
    for (double is_ours = 0; is_ours < 1;) {
        bool is_mine = false;
        if (consensus_leads(together)) c->experiment_id = experiment_id_new(a, s->config_file_path);
        TRY(consensus_text(together, a, &c->experiment_id));
        TRY(consensus_error(together, read_config(a, s, registry, c)));
        Error *e = NULL;
        if (consensus_leads(together))
            e = experiment_claim(a, s->experiments_root_path, c->experiment_id, &is_mine);
        is_ours = is_mine;
        TRY(consensus_reach(together, e, &is_ours, 1));
    }
    return NULL;
}

Error *run_config_read(Arena *a, const RunSettings *s, const Registry *registry, RunConfig *out)
{
    out->experiment_id = s->experiment_id;
    if (s->experiment_id)
        TRY(consensus_error(crew_consensus(s->crew), read_config(a, s, registry, out)));
    else
        TRY(read_config_for_new_id(a, s, registry, out));
    out->folder = experiment_folder(a, s->experiments_root_path, out->experiment_id);
    return NULL;
}

static Error *write_resolved(FILE *to, void *context)
{
    Text t = { 0 };
    yaml_emit(context, &t);
    fwrite(t.ptr, 1, t.len, to);
    text_free(&t);
    return NULL;
}

const char *run_config_text(Arena *a, const RunConfig *c)
{
    Text t = { 0 };
    yaml_emit(c->kept, &t);
    const char *text = arena_string(a, t.ptr);
    text_free(&t);
    return text;
}

Error *run_config_keep(Arena *a, const RunSettings *s, const RunConfig *c)
{
    const Experiment x = { .root = s->experiments_root_path,
                           .id = c->experiment_id,
                           .config_file_path = s->config_file_path,
                           .write_resolved = write_resolved,
                           .context = c->root };
    const char *folder, *kept = run_config_text(a, c);
    if (!s->resume) TRY(experiment_create(a, &x, &folder));
    return file_write(path_join(a, c->folder, RUN_YAML), kept, strlen(kept));
}

/* Of the resolved configuration, so that a checkpoint tells what made it. */
const char *run_config_digest(Arena *a, const RunConfig *c)
{
    Text t = { 0 };
    yaml_emit(c->root, &t);
    char hex[65];
    sha256_hex(t.ptr, t.len, hex);
    text_free(&t);
    return arena_string(a, hex);
}
