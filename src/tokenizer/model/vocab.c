/* vocab.c - a table by id and a hash table by name over one block of text. */
#include "tokenizer/model/vocab.h"
#include "base/map.h"
#include <string.h>

static uint64_t place(const Vocab *v, Str name)
{
    uint64_t at = hash_bytes(name.ptr, name.len) & v->mask;
    while (v->slot[at] != NO_TOKEN && !str_equal(v->name[v->slot[at]], name))
        at = (at + 1) & v->mask;
    return at;
}

uint32_t vocab_find(const Vocab *v, Str name)
{
    return v->slot[place(v, name)];
}

/* Checks the ids and sums up the bytes of the names. */
static Error *measure(JsonNode at, int64_t *n_ids, size_t *n_bytes)
{
    const char *key;
    json_t *value;
    *n_ids = 0;
    *n_bytes = 0;
    json_object_foreach((json_t *)at.value, key, value)
    {
        int64_t id = json_integer_value(value);
        if (!json_is_integer(value) || id < 0 || id > MAX_TOKEN_ID) {
            return json_node_error(json_member(at, key), "must be an id from 0 to %d",
                                   MAX_TOKEN_ID);
        }
        if (id >= *n_ids) *n_ids = id + 1;
        *n_bytes += strlen(key);
    }
    return NULL;
}

static void make_table(Vocab *v, Arena *a)
{
    v->mask = 15;
    while ((int64_t)v->mask < 2 * v->n) v->mask = v->mask * 2 + 1;
    v->slot = NEW_N(a, uint32_t, v->mask + 1);
    memset(v->slot, 0xFF, (v->mask + 1) * sizeof *v->slot);
}

void vocab_of_names(Arena *a, const Str *name, int64_t n, Vocab *v)
{
    *v = (Vocab){ .n_ids = n };
    v->name = arena_copy(a, name, (size_t)n * sizeof *name);
    for (int64_t id = 0; id < n; id++) v->n += name[id].ptr != NULL;
    make_table(v, a);
    for (int64_t id = 0; id < n; id++) {
        if (name[id].ptr) v->slot[place(v, name[id])] = (uint32_t)id;
    }
}

bool vocab_find_bytes(const Vocab *v, uint32_t byte_id[256])
{
    bool all = true;
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        int len = snprintf(name, sizeof name, "<0x%02X>", byte);
        byte_id[byte] = vocab_find(v, (Str){ name, (size_t)len });
        if (byte_id[byte] == NO_TOKEN) all = false;
    }
    return all;
}

Error *vocab_load(JsonNode at, Arena *a, Vocab *v)
{
    if (!json_is_object(at.value)) {
        return json_node_error(at, "must be an object of names and ids");
    }
    size_t n_bytes;
    *v = (Vocab){ .n = (int64_t)json_object_size(at.value) };
    TRY(measure(at, &v->n_ids, &n_bytes));
    v->name = NEW_N(a, Str, v->n_ids);
    make_table(v, a);

    char *text = arena_alloc(a, n_bytes);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)at.value, key, value)
    {
        int64_t id = json_integer_value(value);
        if (v->name[id].ptr) {
            return json_node_error(json_member(at, key), "has the id of \"%.*s\"",
                                   (int)v->name[id].len, v->name[id].ptr);
        }
        Str name = str_of(key);
        memcpy(text, name.ptr, name.len);
        v->name[id] = (Str){ text, name.len };
        text += name.len;
        v->slot[place(v, v->name[id])] = (uint32_t)id;
    }
    return NULL;
}
