/* length_rule.c - cutting and padding ids, and the JSON that asks for it. */
#include "tokenizer/length_rule.h"
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
    int64_t stride;
    Str strategy;
    TRY(json_node_only(at, known));
    TRY(load_direction(at, &out->cuts_left));
    TRY(json_get_int(at, "max_length", 0, INT32_MAX, &out->max));
    TRY(json_get_int(at, "stride", 0, INT32_MAX, &stride));
    if (stride >= out->max && stride) {
        return json_node_error(json_member(at, "stride"), "must be below max_length %lld",
                               (long long)out->max);
    }
    TRY(json_get_string(at, "strategy", &strategy));
    if (!str_is(strategy, "LongestFirst") && !str_is(strategy, "OnlyFirst")) {
        return json_node_error(json_member(at, "strategy"),
                               "must be \"LongestFirst\" or \"OnlyFirst\" for single texts");
    }
    out->truncates = true;
    return NULL;
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
    out->pads = true;
    return NULL;
}

Error *length_rule_load(JsonNode truncation, JsonNode padding, int64_t n_ids, LengthRule *out)
{
    *out = (LengthRule){ 0 };
    if (!json_node_is_null(truncation)) TRY(load_truncation(truncation, out));
    return json_node_is_null(padding) ? NULL : load_padding(padding, n_ids, out);
}

void length_rule_apply(const LengthRule *rule, int64_t from, Ids *ids)
{
    int64_t n = ids->n - from;
    if (rule->truncates && n > rule->max) {
        uint32_t *first = ids->id + from;
        if (rule->cuts_left)
            memmove(first, first + n - rule->max, (size_t)rule->max * sizeof *first);
        n = rule->max;
        ids->n = from + n;
    }
    if (!rule->pads) return;
    int64_t wanted = n > rule->pad_to ? n : rule->pad_to;
    if (rule->multiple) wanted = (wanted + rule->multiple - 1) / rule->multiple * rule->multiple;
    int64_t more = wanted - n;
    if (!more) return;
    uint32_t *pad = ids_reserve(ids, more);
    if (rule->pads_left) {
        uint32_t *first = ids->id + from;
        memmove(first + more, first, (size_t)n * sizeof *first);
        pad = first;
    }
    for (int64_t i = 0; i < more; i++) pad[i] = rule->pad_id;
    ids->n += more;
}
