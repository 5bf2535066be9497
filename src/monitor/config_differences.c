/* config_differences.c - which settings of several resolved configurations differ. */
#include "monitor/config_differences.h"
#include "base/map.h"
#include <string.h>

static bool is_leaf(const Yaml *y)
{
    return (y->type != YAML_MAP && y->type != YAML_LIST) || y->n == 0;
}

static void collect(Arena *a, const Yaml *y, Map *paths)
{
    if (is_leaf(y)) {
        Str path = str_of(yaml_path(a, y));
        if (!map_get(paths, path)) map_set(paths, path, (void *)y);
        return;
    }
    for (int64_t i = 0; i < y->n; i++) collect(a, y->item[i], paths);
}

/* What every run has for itself: its id, paths with it in them, the name of its file. */
static bool is_own(const Yaml *config, const Yaml *value)
{
    const Yaml *id = yaml_find(config, "settings.experiment_id");
    const Yaml *file = yaml_find(config, "settings.config_file_path");
    const Yaml *root = yaml_find(config, "settings.paths.experiments_root_path");
    if (value == file || value == root) return true;
    return id && id->text && *id->text && value->text && strstr(value->text, id->text);
}

/* False when the setting is the same everywhere, or each run's own. */
static bool differs(Arena *a, const Yaml *const *config, int64_t n, const char *path,
                    const char **value)
{
    bool same = true, own = true;
    const Yaml *first = yaml_find(config[0], path);
    for (int64_t i = 0; i < n; i++) {
        const Yaml *y = yaml_find(config[i], path);
        same = same && (y && first ? yaml_equal(y, first) : y == first);
        own = own && (!y || is_own(config[i], y));
        value[i] = !y ? "-" : is_leaf(y) && y->text ? arena_string(a, y->text) : yaml_show(a, y);
    }
    return !same && !own;
}

/* Of settings that go together the one to name: what `settings` says, else the shortest. */
static bool is_better_name(const char *path, const char *than)
{
    bool is_setting = !strncmp(path, "settings.", 9), was = !strncmp(than, "settings.", 9);
    return is_setting != was ? is_setting : strlen(path) < strlen(than);
}

static bool same_values(const char *const *x, const char *const *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(x[i], y[i]) != 0) return false;
    return true;
}

static void add(ConfigDifference *list, int64_t *n_found, ConfigDifference new, int64_t n)
{
    for (int64_t i = 0; i < *n_found; i++) {
        if (!same_values(list[i].value, new.value, n)) continue;
        list[i].n_alike++;
        if (is_better_name(new.path, list[i].path)) list[i].path = new.path;
        return;
    }
    list[(*n_found)++] = new;
}

int64_t config_differences(Arena *a, const Yaml *const *config, int64_t n, ConfigDifference **out)
{
    Map *paths = map_new(a);
    for (int64_t i = 0; i < n; i++) collect(a, config[i], paths);
    *out = NEW_N(a, ConfigDifference, paths->n + 1);
    int64_t n_found = 0;
    for (int64_t i = 0; i < paths->n; i++) {
        const char *path = arena_string_n(a, paths->entry[i].key.ptr, paths->entry[i].key.len);
        const char **value = NEW_N(a, const char *, n + 1);
        if (differs(a, config, n, path, value))
            add(*out, &n_found, (ConfigDifference){ .path = path, .value = value }, n);
    }
    return n_found;
}
