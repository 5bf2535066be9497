/* length_rule.c - cutting and padding ids, and the JSON that asks for it. */
#include "tokenizer/hf/length_rule.h"
#include <string.h>

/* Longer is a mistake, and would take all memory. */
enum { LONGEST_PADDING = 1 << 24 };

static Error *load_direction(JsonNode of, bool *is_left)
{
    Str direction;
    TRY(json_get_string(of, "direction", &direction));
    *is_left = str_is(direction, "Left");
    if (*is_left || str_is(direction, "Right")) return NULL;
    return json_node_error(json_member(of, "direction"), "must be \"Left\" or \"Right\"");
}

static Error *load_truncation(JsonNode at, LengthRule *out)
{
    static const char *const known[] = { "direction", "max_length", "strategy", "stride", NULL };
    static const char *const strategies[] = { "LongestFirst", "OnlyFirst", "OnlySecond" };
    Str strategy;
    TRY(json_node_only(at, known));
    if (json_member(at, "direction").value) TRY(load_direction(at, &out->cuts_left));
    TRY(json_get_int(at, "max_length", 0, INT32_MAX, &out->max));
    TRY(json_get_int(at, "stride", 0, INT32_MAX, &out->stride));
    TRY(json_get_string(at, "strategy", &strategy));
    out->truncates = true;
    for (int i = 0; i < 3; i++) {
        if (!str_is(strategy, strategies[i])) continue;
        out->strategy = (TruncationStrategy)i;
        return NULL;
    }
    return json_node_error(json_member(at, "strategy"),
                           "must be \"LongestFirst\", \"OnlyFirst\" or \"OnlySecond\"");
}

static Error *load_padding(JsonNode at, int64_t n_ids, LengthRule *out)
{
    static const char *const known[] = { "strategy", "direction",   "pad_to_multiple_of",
                                         "pad_id",   "pad_type_id", "pad_token",
                                         NULL };
    int64_t id, type_id;
    Str token;
    TRY(json_node_only(at, known));
    TRY(load_direction(at, &out->pads_left));
    TRY(json_get_int(at, "pad_id", 0, n_ids - 1, &id));
    TRY(json_get_int(at, "pad_type_id", 0, UINT32_MAX, &type_id));
    TRY(json_get_string(at, "pad_token", &token));
    if (!json_node_is_null(json_member(at, "pad_to_multiple_of"))) {
        TRY(json_get_int(at, "pad_to_multiple_of", 0, LONGEST_PADDING, &out->multiple));
    }
    JsonNode strategy = json_member(at, "strategy");
    if (json_is_object(strategy.value)) {
        static const char *const fixed[] = { "Fixed", NULL };
        TRY(json_node_only(strategy, fixed));
        TRY(json_get_int(strategy, "Fixed", 0, LONGEST_PADDING, &out->pad_to));
    } else if (!json_is_string(strategy.value) ||
               strcmp(json_string_value(strategy.value), "BatchLongest") != 0) {
        return json_node_error(strategy, "must be \"BatchLongest\" or {\"Fixed\": length}");
    }
    out->pad_id = (uint32_t)id;
    out->pad_type_id = (uint32_t)type_id;
    out->pads = true;
    return NULL;
}

Error *length_rule_load(JsonNode truncation, JsonNode padding, int64_t n_ids, LengthRule *out)
{
    *out = (LengthRule){ 0 };
    if (!json_node_is_null(truncation)) TRY(load_truncation(truncation, out));
    return json_node_is_null(padding) ? NULL : load_padding(padding, n_ids, out);
}

static void add_chunk(Chunks *c, int64_t from, int64_t to)
{
    TokenChunk *chunk = buffer_grow(&c->room, (size_t)(c->n + 1) * sizeof *chunk);
    chunk[c->n++] = (TokenChunk){ from, to };
}

TokenChunk chunk_at(const Chunks *c, int64_t i)
{
    return ((const TokenChunk *)c->room.ptr)[i];
}

/* Chunks of `max` ids, each sharing `stride` with the one before, from the side that is kept. */
static Error *cut_one(const LengthRule *rule, int64_t length, int64_t max, Chunks *out)
{
    out->n = 0;
    if (max >= length) {
        add_chunk(out, 0, length);
        return NULL;
    }
    if (!max) {
        add_chunk(out, 0, 0);
        add_chunk(out, 0, length);
        return NULL;
    }
    if (rule->stride >= max) {
        return error_new("truncation: the stride %lld must be less than the %lld ids that are left "
                         "for a text",
                         (long long)rule->stride, (long long)max);
    }
    for (int64_t at = 0, done = 0; !done; at += max - rule->stride) {
        int64_t end = at + max < length ? at + max : length;
        done = end == length;
        if (rule->cuts_left)
            add_chunk(out, length - end, length - at);
        else
            add_chunk(out, at, end);
    }
    return NULL;
}

/* How much of each text of a pair is kept: the longer one is cut first, then both alike. */
static void share(int64_t max, const int64_t *length, int64_t *kept)
{
    bool swapped = length[0] > length[1];
    int64_t small = length[swapped], large;
    if (small > max)
        large = small;
    else
        large = small > max - small ? small : max - small;
    if (small + large > max) {
        small = max / 2;
        large = small + max % 2;
    }
    kept[swapped] = small;
    kept[!swapped] = large;
}

static Error *choose_lengths(const LengthRule *rule, int64_t max, const int64_t *length,
                             int n_texts, int64_t *kept)
{
    int64_t total = length[0] + (n_texts > 1 ? length[1] : 0);
    for (int i = 0; i < n_texts; i++) kept[i] = max ? length[i] : 0;
    if (!max || total <= max) return NULL;
    if (rule->strategy == TRUNCATE_LONGEST) {
        if (n_texts > 1)
            share(max, length, kept);
        else
            *kept = max;
        return NULL;
    }
    int target = rule->strategy == TRUNCATE_SECOND;
    if (target >= n_texts) return error_new("truncation OnlySecond needs a pair of texts");
    kept[target] = length[target] - (total - max);
    if (kept[target] > 0) return NULL;
    return error_new("truncation: the %s text has %lld ids, too few to cut %lld off",
                     target ? "second" : "first", (long long)length[target],
                     (long long)(total - max));
}

Error *length_rule_cut(const LengthRule *rule, int64_t n_added, const int64_t *length, int n_texts,
                       Chunks *out)
{
    int64_t kept[2] = { 0 };
    for (int i = 0; i < n_texts; i++) kept[i] = length[i];
    if (rule->truncates && rule->max < n_added) {
        return error_new("truncation: max_length %lld leaves no room for %lld special tokens",
                         (long long)rule->max, (long long)n_added);
    }
    if (rule->truncates) TRY(choose_lengths(rule, rule->max - n_added, length, n_texts, kept));
    for (int i = 0; i < n_texts; i++) TRY(cut_one(rule, length[i], kept[i], &out[i]));
    return NULL;
}

int64_t length_rule_padding(const LengthRule *rule, int64_t n)
{
    if (!rule->pads) return 0;
    int64_t wanted = rule->pad_to ? rule->pad_to : n;
    if (rule->multiple) wanted = (wanted + rule->multiple - 1) / rule->multiple * rule->multiple;
    return wanted > n ? wanted - n : 0;
}
