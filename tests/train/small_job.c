/* small_job.c - builds a job as `modalities run` does, without its folder and its output. */
#include "train/small_job.h"
#include "components.h"
#include "config/config.h"
#include "train/make_job.h"

static StringList list_of(Arena *a, Words words)
{
    StringList list = { 0 };
    while (words && words[list.n]) list.n++;
    list.item = NEW_N(a, const char *, list.n);
    for (int64_t i = 0; i < list.n; i++) list.item[i] = words[i];
    return list;
}

SmallJob *small_job_new(const char *id, Words set)
{
    Bench b = bench_new();
    SmallJob *s = NEW(b.arena, SmallJob);
    s->bench = b;
    bench_words(&b, id, NULL, NULL); /* sets the variables of the YAML */
    const char *yaml = "tests/end_to_end/train.yaml";
    const ResolverContext context = { .config_file_path = yaml,
                                      .experiments_root_path = b.root,
                                      .experiment_id = id };
    Yaml *root;
    Registry *r;
    assert_no_error(config_load(b.arena, yaml, list_of(b.arena, set), &context, &root));
    assert_no_error(training_config_complete(b.arena, root, NULL, b.root));
    assert_no_error(components_registry(b.arena, &r));
    assert_no_error(
        builder_build(builder_new(b.arena, r, root, NULL), training_config_fields, &s->config));
    const RunConfig made = { .root = root, .config = s->config };
    s->job = training_job(b.arena, &(RunSettings){ 0 }, &made, &s->events);
    return s;
}

Tensor *small_job_param(ParamStore *s, const char *name)
{
    Stored *p = store_find(s, name);
    if (!p) fail_msg("there is no %s", name);
    return &p->tensor;
}
