/* results.h - the numbers that training and evaluation report, under the original's names, and how
 * they are spelled on the console and in files. */
#ifndef MONITOR_RESULTS_H
#define MONITOR_RESULTS_H
#include "base/str.h"
#include "monitor/event.h"

/* What one log interval knows; rank reductions are done. */
typedef struct TrainingNumbers {
    const char *tag; /* of the training loader */
    int64_t step, consumed_tokens;
    double loss_avg, loss_last, grad_norm_avg, grad_norm_last;
    double gradient_scale;          /* for the range of F16, of the next step; 0: none */
    double samples_per_second, mfu; /* mfu -1: not known */
    double mfu_products;            /* by the FLOPs that products of matrices need; 0: not known */
    double lr;                      /* of the next step, mean over groups */
    const char *const *rate_name;   /* of groups that have rates of their own; NULL ends the list */
    const double *rate;
    const char *const *load_name; /* of experts; NULL: there are none; NULL ends the list */
    const double *load;
    int n_shown_loads;             /* the first of them are shown on the console */
    const char *const *ahead_name; /* losses of the tokens after the next one; likewise */
    const double *ahead;
    bool has_index_loss; /* of indexers of sparse attention */
    double index_loss;
    bool has_attention_logit;
    double attention_logit; /* the largest of the last step */
    double peak_memory_mb;  /* MiB */
} TrainingNumbers;

/* The second convention: no embeddings, the half of attention that is causal. */
#define MFU_OF_PRODUCTS "train mfu of products (16-bit)"

Results training_results(const TrainingNumbers *from);
/* One pass over an evaluation loader; `loss_tag` is the loss function's ("CLMCrossEntropyLoss"). */
Results evaluation_results(const char *tag, int64_t step, const char *loss_tag, double loss,
                           double samples_per_second);

void measures_add_real(Measures *m, const char *name, double value, int decimals);
void measures_add_count(Measures *m, const char *name, int64_t count);
/* The measure of that name in any group, or NULL. */
const Measure *results_find(const Results *r, const char *name);

/* "step: 1 | train samples/s: 12.3 | ... | ": the console line without its time. */
void results_console_line(const Results *r, Text *out);
/* The line of evaluation_results.jsonl without the newline. */
void results_json_line(const Results *r, Text *out);
/* As JSON: an integer, or the float32 widened. */
void measure_json(const Measure *m, Text *out);
/* Removes the lines of results (of to_disc or wandb) that came after a moment, and what a crash
 * left of a line. A missing file is well. */
Error *results_cut(const char *path, const TrainingMoment *to);
#endif
