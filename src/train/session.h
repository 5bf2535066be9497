/* session.h - a model on a device: its parameters, and programs over them made when first needed.
 *
 * A model that brings weights (Model.weights_path) has them as soon as a program is made. */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H
#include "exec/program.h"
#include "train/job.h"

typedef struct Session Session;

typedef struct SessionSettings {
    const Model *model;
    const char *device; /* "cpu", "cuda", "cuda:1"; NULL: what MODALITIES_DEVICE says, or cpu */
    int local_rank;     /* of those of this machine: "cuda" is the GPU of this number */
    int n_threads;      /* 0: all cores */
    size_t memory;      /* bytes that it may take; 0: what is free */
    const PassTrace *trace;
    const Dtype *precision; /* instead of the model's own; NULL: the model's */
    bool wide;              /* see Precision */
    Groups *groups;         /* the ranks that share the work; NULL: this one is alone */
    bool is_plan;           /* programs are planned only */
    bool rounded_buffers;   /* see ForwardSettings */
    struct Watch *watches;  /* beside those of the model, or NULL */
    int64_t rank;           /* for those who look on */
} SessionSettings;

/* What --device asks for ("cpu", "cuda", "cuda:1", NULL: whatever there is), or an error if it is
 * not here. */
Error *session_check_device(const char *device);
/* What --print_graph asks for: a name that no pass has would print nothing. */
Error *session_check_trace(const char *print);
/* Free with session_free. Errors: an instruction set that the CPU lacks. */
Error *session_new(const SessionSettings *s, Session **out);
void session_free(Session *s);
ParamStore *session_store(Session *s);
/* What its settings gave. */
Groups *session_groups(const Session *s);
const Model *session_model(const Session *s);
/* Bytes that further programs may take; 0: not known. */
size_t session_free_bytes(const Session *s);
/* FLOP/s that this device reaches at most in the precision that it computes in; measured at the
 * first call. */
double session_peak_flops(Session *s);

/* The program of training steps by a schedule (NULL: of one microbatch) for microbatches of this
 * shape; inputs are the model's sample key
 * and the loss's target key, and what the model needs to tell documents apart. */
Error *session_training_program(Session *s, const Loss *loss, const Optimizer *optimizer,
                                const GradientClipper *clipper, const Schedule *schedule,
                                int64_t batch, int64_t sequence, Program **out);
/* Forward pass and loss, without dropout; made once per shape. */
Error *session_evaluation_program(Session *s, const Loss *loss, int64_t batch, int64_t sequence,
                                  Program **out);
/* Forward pass to the output "logits" (and "loss" with gradients when targets are given). */
Error *session_inspection_program(Session *s, const Loss *loss, bool gradients, int64_t batch,
                                  int64_t sequence, Program **out);
/* The same with the blocks that predict later tokens, whose logits are outputs, too. */
Error *session_whole_program(Session *s, const Loss *loss, bool gradients, int64_t batch,
                             int64_t sequence, Program **out);
/* The forward pass alone, of a model that says its own outputs and brings neither logits nor loss.
 */
Error *session_plain_program(Session *s, Program **out);
/* `sequence` tokens of each of `batch` texts after those that are in a cache of `cache_length`
 * positions. Of a single token it gives the output "logits" [batch 1 v]; more only fill the cache.
 * Each number of texts has caches of its own. */
Error *session_generation_program(Session *s, int64_t batch, int64_t sequence, int64_t cache_length,
                                  Program **out);
#endif
