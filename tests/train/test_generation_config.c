/* test_generation_config.c - what generate_text makes of the configuration that a checkpoint keeps.
 */
#include "base/file.h"
#include "test.h"
#include "train/generation_config.h"
#include <string.h>

static void put(Arena *a, const char *name, const char *text)
{
    assert_no_error(file_write(path_join(a, test_folder(), name), text, strlen(text)));
}

TEST(a_kept_model_has_what_it_refers_to_and_no_wrappers)
{
    static const char kept[] =
        "settings: {referencing_keys: {sample_key: ids, prediction_key: guess}, n: 3}\n"
        "app_state: {component_key: app_state, variant_key: raw, config: {model: {instance_key: "
        "outer}}}\n"
        "outer: {component_key: model, variant_key: compiled, config: {model: {instance_key: "
        "average}}}\n"
        "average: {component_key: model, variant_key: averaged, config: {model: {instance_key: "
        "adapted}}}\n"
        "adapted: {component_key: model, variant_key: lora, config: {rank: 2, model: "
        "{component_key: model, variant_key: frozen, config: {model: {instance_key: raw}}}}}\n"
        "raw: {component_key: model, variant_key: some, config: {norm: {instance_key: part}, "
        "norms: [{instance_key: part}]}}\n"
        "part: {component_key: norm, variant_key: own, config: {n: \"${settings.n}\"}}\n";
    Arena *a = arena_new();
    Yaml *root = NULL;
    put(a, "kept_config.yaml", kept);
    put(a, "tokenizer.json", "{}");
    assert_no_error(generation_config_of(a, test_folder(), test_folder(), NULL, &root));
    const Yaml *model = yaml_find(root, "text_inference_component.config.model.config.model");
    assert_string_equal(yaml_text_at(model, "variant_key"), "averaged");
    model = yaml_find(model, "config.model");
    assert_string_equal(yaml_text_at(model, "variant_key"), "lora");
    assert_int_equal(yaml_find(model, "config.rank")->integer, 2);
    assert_string_equal(yaml_find(model, "config.model.variant_key")->text, "some");
    assert_int_equal(yaml_find(model, "config.model.config.norm.config.n")->integer, 3);
    assert_int_equal(yaml_find(model, "config.model.config.norms[0].config.n")->integer, 3);
    assert_string_equal(yaml_find(root, "settings.referencing_keys.sample_key")->text, "ids");
    assert_string_equal(yaml_find(root, "settings.model_path")->text, test_folder());
    arena_free(a);
}

TEST(a_kept_model_whose_values_are_missing_says_which)
{
    Arena *a = arena_new();
    Yaml *root = NULL;
    put(a, "kept_config.yaml",
        "settings: {referencing_keys: {sample_key: ids, prediction_key: guess}, other: "
        "\"${oc.env:NOT_THERE_EITHER}\"}\n"
        "app_state: {component_key: app_state, variant_key: raw, config: {model: {component_key: "
        "model, variant_key: some, config: {n: \"${oc.env:NOT_THERE}\"}}}}\n");
    put(a, "tokenizer.json", "{}");
    assert_error_has(generation_config_of(a, test_folder(), test_folder(), NULL, &root),
                     "NOT_THERE");
    arena_free(a);
}
