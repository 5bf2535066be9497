/* test_typos.c - keys with a typing mistake, at any level of a training configuration: the message
 * names the key that was meant. */
#include "base/file.h"
#include "base/rng.h"
#include "config/yaml_emit.h"
#include "end_to_end/training.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

typedef struct Keys {
    Arena *arena;
    Yaml **key; /* with the mapping that it belongs to, by index */
    Yaml **map;
    int64_t n, cap, cap_map;
} Keys;

/* Keys of these mappings are free, or a single letter says too little. */
static bool is_free(const char *name)
{
    return !strcmp(name, "referencing_keys") || !strcmp(name, "paths");
}

static void collect(Keys *k, Yaml *y)
{
    for (int64_t i = 0; i < y->n; i++) {
        bool is_map = y->type == YAML_MAP;
        if (is_map && strlen(y->key[i]->text) > 2) {
            k->key = arena_grow(k->arena, k->key, k->n, &k->cap, sizeof *k->key);
            k->map = arena_grow(k->arena, k->map, k->n, &k->cap_map, sizeof *k->map);
            k->key[k->n] = y->key[i];
            k->map[k->n++] = y;
        }
        if (!is_map || !is_free(y->key[i]->text)) collect(k, y->item[i]);
    }
}

/* One letter is missing, doubled, another one, or in its neighbour's place. */
static const char *mistyped(Arena *a, const char *word, uint64_t random)
{
    size_t n = strlen(word), at = 1 + (size_t)(random / 4 % (n - 1));
    char *s = arena_alloc(a, n + 2);
    memcpy(s, word, n);
    switch (random % 4) {
    case 0:
        memmove(s + at, s + at + 1, n - at);
        break;
    case 1:
        memmove(s + at + 1, s + at, n - at);
        break;
    case 2:
        s[at] = s[at] == 'x' ? 'y' : 'x';
        break;
    default:
        s[at] = word[at - 1];
        s[at - 1] = word[at];
        break;
    }
    return s;
}

static bool is_named(Arena *a, const char *path, const char *meant, const char *typo)
{
    const char *const words[] = { "config", "check", "--config_file_path", path, NULL };
    Outcome o = command_output(a, words, NULL);
    const char *suggestion = arena_printf(a, "did you mean \"%s\"?", meant);
    const char *by = arena_printf(a, "is it meant by \"%s\"", typo);
    const char *instead = arena_printf(a, "did you mean \"%s\"", typo); /* of a reference */
    bool names_typo = strstr(o.text, by) || strstr(o.text, instead);
    return strstr(o.text, suggestion) || (names_typo && strstr(o.text, meant));
}

TEST(typing_mistakes_in_keys_are_answered_with_the_key_that_was_meant)
{
    enum { N_TYPOS = 200, NEEDED = 190 };
    const int64_t wanted = test_share(N_TYPOS);
    Bench b = bench_new();
    Arena *a = b.arena;
    Keys keys = { .arena = a };
    Yaml *root;
    int64_t n = 0, n_right = 0;
    setenv("TRAIN_PBIN", path_absolute(a, b.pbin), 1);
    assert_no_error(yaml_read(a, "tests/end_to_end/train.yaml", &root));
    collect(&keys, root);
    const char *path = path_join(a, test_folder(), "typo.yaml");
    for (uint64_t i = 0; n < wanted; i++) {
        Yaml *key = keys.key[rng_bits(1, i) % (uint64_t)keys.n];
        const char *meant = key->text, *typo = mistyped(a, meant, rng_bits(2, i));
        size_t length = key->text_len;
        if (!strcmp(typo, meant)) continue;
        Text t = { 0 };
        key->text = typo;
        key->text_len = strlen(typo);
        yaml_emit_unsorted(root, &t);
        key->text = meant;
        key->text_len = length;
        assert_no_error(file_write_unsynced(path, t.ptr, t.len));
        text_free(&t);
        bool right = is_named(a, path, meant, typo);
        if (!right) printf("%s for %s\n", typo, meant);
        n_right += right;
        n++;
    }
    test_note("%lld of %lld typing mistakes were answered with the right key", (long long)n_right,
              (long long)n);
    assert_true(n_right * N_TYPOS >= NEEDED * n);
    arena_free(a);
}
