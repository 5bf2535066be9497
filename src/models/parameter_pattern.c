/* parameter_pattern.c - patterns of names, and words for roles. */
#include "models/parameter_pattern.h"
#include <fnmatch.h>
#include <string.h>

static bool is_matrix(const Value *v)
{
    return !v->is_bias && v->n_dims >= 2 && v->role <= ROLE_RESIDUAL;
}
static bool is_embedding(const Value *v)
{
    return v->role == ROLE_EMBEDDING || v->role == ROLE_POSITION || v->role == ROLE_TOKEN;
}
static bool is_head(const Value *v)
{
    return v->role == ROLE_HEAD;
}
static bool is_norm(const Value *v)
{
    return v->role == ROLE_NORM;
}
static bool is_bias(const Value *v)
{
    return v->is_bias && v->role != ROLE_NORM;
}

static const struct {
    const char *word;
    bool (*is)(const Value *param);
} words[] = { { "@matrices", is_matrix },
              { "@embeddings", is_embedding },
              { "@head", is_head },
              { "@norms", is_norm },
              { "@biases", is_bias } };
enum { N_WORDS = sizeof words / sizeof *words };

static int find_word(const char *word)
{
    for (int i = 0; i < N_WORDS; i++)
        if (!strcmp(words[i].word, word)) return i;
    return -1;
}

bool parameter_matches(const char *const *patterns, const Value *param)
{
    for (int i = 0; patterns[i]; i++) {
        const int word = find_word(patterns[i]);
        if (word >= 0 ? words[word].is(param) : !fnmatch(patterns[i], param->name, 0)) return true;
    }
    return false;
}

Error *parameter_patterns(Arena *a, const char *key, const StringList *list,
                          const char *const **out)
{
    const char **patterns = NEW_N(a, const char *, list->n + 1);
    for (int64_t i = 0; i < list->n; i++) {
        patterns[i] = list->item[i];
        if (*patterns[i] == '@' && find_word(patterns[i]) < 0)
            return error_new("%s.%lld: \"%s\"; allowed are patterns of names with *, and "
                             "@matrices, @embeddings, @head, @norms, @biases",
                             key, (long long)i, patterns[i]);
    }
    *out = patterns;
    return NULL;
}

static bool means_one(const char *pattern, const Value *const *param, int64_t n)
{
    const char *const one[] = { pattern, NULL };
    for (int64_t i = 0; i < n; i++)
        if (param[i]->kind == VALUE_PARAM && parameter_matches(one, param[i])) return true;
    return false;
}

Error *parameter_patterns_match(const char *const *patterns, const Value *const *param, int64_t n)
{
    int64_t first = 0;
    while (first < n && param[first]->kind != VALUE_PARAM) first++;
    for (int i = 0; patterns[i]; i++)
        if (!means_one(patterns[i], param, n))
            return error_new("\"%s\" is the name of no parameter here; the first one is %s",
                             patterns[i], first < n ? param[first]->name : "not there");
    return NULL;
}

Error *parameter_patterns_check(const char *const *patterns, const Graph *g)
{
    return parameter_patterns_match(patterns, (const Value *const *)g->value, g->n_values);
}
