/* results.c - reported numbers: their names, their console line, their JSON line. */
#include "monitor/results.h"
#include "base/json.h"
#include <inttypes.h>
#include <string.h>

static void add(Measures *m, Measure one)
{
    CHECK(m->n < MAX_MEASURES);
    m->item[m->n++] = one;
}

void measures_add_real(Measures *m, const char *name, double value, int decimals)
{
    add(m, (Measure){ .name = name, .value = (double)(float)value, .decimals = decimals });
}

void measures_add_count(Measures *m, const char *name, int64_t count)
{
    add(m, (Measure){ .name = name, .count = count, .is_count = true });
}

Results training_results(const TrainingNumbers *from)
{
    Results r = { .tag = from->tag, .step = from->step };
    measures_add_real(&r.losses, "train loss avg", from->loss_avg, 2);
    measures_add_real(&r.losses, "train loss last", from->loss_last, 2);
    for (int i = 0; from->ahead_name && from->ahead_name[i]; i++)
        measures_add_real(&r.losses, from->ahead_name[i], from->ahead[i], 2);
    if (from->has_index_loss)
        measures_add_real(&r.losses, "train loss of indexers", from->index_loss, 4);
    measures_add_count(&r.metrics, "consumed tokens", from->consumed_tokens);
    measures_add_real(&r.metrics, "grad norm avg", from->grad_norm_avg, 2);
    measures_add_real(&r.metrics, "grad norm last", from->grad_norm_last, 2);
    if (from->gradient_scale > 0)
        measures_add_real(&r.metrics, "loss scale", from->gradient_scale, 2);
    for (int i = 0; from->load_name && from->load_name[i]; i++)
        measures_add_real(&r.metrics, from->load_name[i], from->load[i],
                          i < from->n_shown_loads ? 3 : NOT_ON_CONSOLE);
    if (from->has_attention_logit)
        measures_add_real(&r.metrics, "attention logit max", from->attention_logit, 2);
    measures_add_real(&r.throughput, "train samples/s", from->samples_per_second, 1);
    measures_add_real(&r.throughput, "train mfu (16-bit)", from->mfu, 2);
    if (from->mfu_products > 0)
        measures_add_real(&r.throughput, MFU_OF_PRODUCTS, from->mfu_products, NOT_ON_CONSOLE);
    measures_add_real(&r.throughput, "lr mean", from->lr, ALL_DECIMALS);
    for (int i = 0; from->rate_name && from->rate_name[i]; i++)
        measures_add_real(&r.throughput, from->rate_name[i], from->rate[i], ALL_DECIMALS);
    measures_add_real(&r.throughput, "peak memory rank 0 (MB)", from->peak_memory_mb, 2);
    return r;
}

Results evaluation_results(const char *tag, int64_t step, const char *loss_tag, double loss,
                           double samples_per_second)
{
    Results r = { .tag = tag, .is_evaluation = true, .step = step };
    measures_add_real(&r.losses, loss_tag, loss, 2);
    measures_add_real(&r.throughput, "evaluation_num_samples_per_second", samples_per_second, 1);
    return r;
}

static const Measure *find(const Measures *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (!strcmp(m->item[i].name, name)) return &m->item[i];
    return NULL;
}

const Measure *results_find(const Results *r, const char *name)
{
    const Measure *m = find(&r->losses, name);
    if (!m) m = find(&r->metrics, name);
    return m ? m : find(&r->throughput, name);
}

static void console_group(const Measures *m, Text *out)
{
    for (int i = 0; i < m->n; i++) {
        const Measure *one = &m->item[i];
        if (one->decimals == NOT_ON_CONSOLE) continue;
        text_printf(out, "%s%s: ", i ? " | " : "", one->name);
        if (one->is_count) { /* a float there, so ".0" stays; the digits are exact here */
            text_printf(out, "%" PRId64 ".0", one->count);
            continue;
        }
        char number[32];
        format_double(one->decimals < 0 ? one->value : round_decimals(one->value, one->decimals),
                      number);
        text_puts(out, number);
    }
    text_puts(out, " | ");
}

void results_console_line(const Results *r, Text *out)
{
    text_printf(out, "step: %" PRId64 " | ", r->step);
    console_group(&r->throughput, out);
    console_group(&r->losses, out);
    console_group(&r->metrics, out);
}

void measure_json(const Measure *m, Text *out)
{
    if (m->is_count)
        text_printf(out, "%" PRId64, m->count);
    else
        text_json_double(out, m->value);
}

static void json_group(const char *name, const Measures *m, Text *out)
{
    text_printf(out, ", \"%s\": {", name);
    for (int i = 0; i < m->n; i++) {
        if (i) text_puts(out, ", ");
        text_json_string(out, str_of(m->item[i].name));
        text_puts(out, ": ");
        measure_json(&m->item[i], out);
    }
    text_putc(out, '}');
}

void results_json_line(const Results *r, Text *out)
{
    text_puts(out, "{\"dataloader_tag\": ");
    text_json_string(out, str_of(r->tag));
    text_printf(out, ", \"num_train_steps_done\": %" PRId64, r->step);
    json_group("losses", &r->losses, out);
    json_group("metrics", &r->metrics, out);
    json_group("throughput_metrics", &r->throughput, out);
    text_putc(out, '}');
}
