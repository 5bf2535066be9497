/* training.h - runs and warm starts of the program on small data, in the test's folder. */
#ifndef TESTS_END_TO_END_TRAINING_H
#define TESTS_END_TO_END_TRAINING_H
#include "test.h"
#include <sys/types.h>

/* How the program ended, and everything it said, in the order in which it was written. */
typedef struct Outcome {
    int status; /* exit status; -N: killed by signal N */
    const char *text;
} Outcome;

/* Lists of words and of NAME=value variables end with NULL; NULL stands for none. */
typedef const char *const *Words;

/* The words that start n processes of the program with these arguments under mpirun, whose own
 * `flags` may be NULL; the test has called mpirun_prepare. */
Words mpirun_words(Arena *a, int n, Words flags, Words words);
/* The program with these arguments; words that begin with mpirun are a command themselves. */
Outcome command_output(Arena *a, Words words, Words variables);
/* The same in two steps; `pipe` not NULL: what it says can be read there, not from the outcome. */
pid_t command_start(Arena *a, Words words, Words variables, int *pipe);
Outcome command_wait(Arena *a, pid_t child, const int *pipe);

/* A folder for experiments beside a .pbin file with 3000 tokens below 64. */
typedef struct Bench {
    Arena *arena;
    const char *root, *pbin;
} Bench;

/* Arguments of a run that writes the two files of FSDP1. */
#define FSDP1_FILES                                                                                \
    "--set", "checkpoint_saving.config.checkpoint_saving_execution={component_key: "               \
             "checkpoint_saving_execution, variant_key: fsdp1, config: {checkpoint_path: "         \
             "\"${settings.paths.checkpoint_saving_path}\", global_rank: "                         \
             "\"${settings.cuda_env.global_rank}\", experiment_id: "                               \
             "\"${settings.experiment_id}\"}}"

Bench bench_new(void);
/* The same, with a file of 400 tokens for evaluations, which else take longer than the training. */
Bench bench_with_short_evaluations(void);
/* A .pbin file for a training that cannot end before a signal arrives: 30,000 steps of 3 ranks. */
const char *write_many_tokens(Arena *a);
/* The words of `run` with train.yaml as experiment `id`; with `from`, of `warmstart` with
 * warmstart.yaml from that experiment's last checkpoint. `more` are further arguments. */
Words bench_words(const Bench *b, const char *id, const char *from, Words more);
/* Runs them. Variables may be NULL. */
Outcome bench_run(const Bench *b, const char *id, const char *from, Words more, Words variables);
/* Fails the test unless the program ended well. */
void assert_ended_well(Outcome o);
/* Fails the test unless it ended with this status, and its message has these words. */
void assert_refused(Outcome o, int status, const char *says);

/* Whether the experiment has a last_checkpoint_info.json. */
bool bench_has_checkpoint(const Bench *b, const char *id);
/* The folder that last_checkpoint_info.json names, and the steps that its name tells. */
const char *bench_last_checkpoint(const Bench *b, const char *id, int64_t *steps);
/* Parameters, moments and numbers of updates have the same bits in the last checkpoints. */
void assert_same_state(const Bench *b, const char *id, const char *other);
/* The last checkpoints hold the same, in whatever format. */
void assert_same_checkpoint(const Bench *b, const char *id, const char *other);
/* Every result line of `part` (loss, gradient norm, tokens, evaluations) is one of `whole`. */
void assert_curve_within(const Bench *b, const char *part, const char *whole);
/* The two runs have as many of these numbers in their results, and they differ by no more than
 * `most` of themselves. */
void assert_results_near(const Bench *b, const char *id, const char *other, const char *name,
                         double most);
/* The same of the last of them. */
void assert_last_result_near(const Bench *b, const char *id, const char *other, const char *name,
                             double most);
/* They have learnt the same, whatever the layout of their ranks. */
void assert_learnt_alike(const Bench *b, const char *id, const char *other);
/* `half`, gone on with up to 8 steps, ends with the bits and results of `whole`. */
void assert_goes_on_as(const Bench *b, const char *half, const char *whole);
/* A run of 8 steps with these arguments, and one that goes on from its checkpoint of step 4, give
 * the same bits and results. */
void assert_resumes(Words variant);
/* Trains 8 steps as "whole", and as "resumed" those from its checkpoint after 4 on, whose curve is
 * that of the former. */
void bench_resume_in_the_middle(const Bench *b, Words before, Words after);
/* The same where what goes on has other arguments, which must not matter. */
void assert_resumes_as(Words before, Words after);
#endif
