/* fuzz_template.c - any bytes as a template: refused, or rendered within its bounds to UTF-8. */
#include "base/utf8.h"
#include "fuzz.h"
#include "template/template.h"
#include "template/value_json.h"

/* Enough for loops, little enough to try many inputs. */
enum { WORK = 1 << 18 };

static const char variables[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"Kurz, bitte. \"}, {\"role\": \"user\", "
    "\"content\": \"x y\\nz\"}, {\"role\": \"assistant\", \"tool_calls\": [{\"name\": \"f\", "
    "\"arguments\": {\"a\": [1, 2.5, null]}}]}], \"d\": {\"k\": 1, \"none\": null}, \"l\": [3, 1], "
    "\"s\": \"H\\u00e4 \\ud83d\\ude00\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Template *t;
    TemplateValue v;
    int64_t column;
    CHECK(!value_from_json(a, str_of(variables), &v, &column));
    Error *e = template_parse(a, (Str){ (const char *)data, size }, size % 2, &t);
    if (!e) {
        Variable variable[4];
        Text out = { 0 };
        for (int i = 0; i < 4; i++)
            variable[i] =
                (Variable){ v.map->entry[i].key.ptr, *(TemplateValue *)v.map->entry[i].value };
        e = template_render(t, variable, 4, WORK, a, &out);
        CHECK(out.len < 8 * WORK);
        CHECK(utf8_valid_length((Str){ out.ptr ? out.ptr : "", out.len }) == out.len);
        text_free(&out);
    }
    error_free(e);
    arena_free(a);
    return 0;
}
