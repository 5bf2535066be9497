/* source.h - where the parameters of a decoder lie in the tensors of a family's files. */
#ifndef MODELS_HF_SOURCE_H
#define MODELS_HF_SOURCE_H
#include "models/decoder.h"
#include "models/hf/family.h"

/* A number that files have as a tensor of each layer, always the same; `%` stands for the layer. */
typedef struct HfConstant {
    const char *name;
    double value;
} HfConstant;

/* Those of a decoder of the family; ends with an empty one. */
const HfConstant *hf_constants(const HfFamily *f, const Decoder *d);
const char *hf_constant_name(Arena *a, const HfConstant *c, int64_t layer);

/* Whether files of the family have the decoder's blocks for later tokens; else *why, if there are
 * some, says what is in the way. */
bool hf_takes_ahead(const HfFamily *f, const Decoder *d, const char **why);
/* What such a block shares with the model, and has again in files: tensors "model.layers.N.<copy>".
 */
typedef struct HfShared {
    const char *tensor, *copy;
} HfShared;
extern const HfShared hf_shared[]; /* ends with an empty one */

/* Where a parameter lies in the tensors of a file. */
typedef struct HfSource {
    const char **tensor; /* names: one, or one for each expert, or for each head */
    int64_t n_tensors;
    int64_t n_zeros; /* of names behind those: of tensors that nothing reads, and zeros are written
                        to */
    int n_dims;      /* of each of them */
    int64_t size[MAX_DIMS];
    /* Element (row, column) of the parameter, or of its part of an expert, within the tensor. A
     * vector is a column. */
    int64_t base, row_stride, column_stride;
    int64_t part_stride; /* from one expert to the next, where one tensor has all; 0: else */
    int64_t part_rows;   /* so many rows are a tensor each; 0: all are one */
    /* Where `head` is not 0, so many rows are a head, heads are `head_stride` rows apart, and of
     * the features of one so many turn, in pairs that lie side by side or not. */
    int64_t head, head_stride, turning;
    int64_t group,
        group_stride; /* so many heads lie together, and groups so many rows apart; 0: all */
    int64_t shard;    /* of these rows, so many lie together, with as many of each of two others
                         behind; 0:    all */
    bool interleaved, turns_last;
    bool of_columns;  /* columns are those of heads, not rows */
    bool turns_first; /* what turns of a head stands in front here, too, in two halves */
    bool swapped;     /* the second half of a head comes first */
    const char *rest; /* NULL, or a tensor that has the rows which the one named is without */
} HfSource;

/* The element that a row of an expert begins with, and which tensor it is in; of what has no
 * experts `expert` is 0. */
int64_t hf_source_place(const HfSource *s, int64_t expert, int64_t row, int64_t *tensor);
/* The element of the tensor that the row, one of its own, begins with. */
int64_t hf_source_row(const HfSource *s, int64_t row);
/* How far behind that a column lies. */
int64_t hf_source_column(const HfSource *s, int64_t column);

/* Of a model with the heads of `d`. An error when the family has no place for such a parameter. */
Error *hf_source(Arena *a, const HfFamily *f, const Decoder *d, const char *param, int n_dims,
                 const int64_t *size, HfSource *out);
/* Where the experts of a layer, [experts rows width], lie if one tensor has all of them, gates and
 * what they gate one after the other, as in some files of transformers 5, or, `turned`, with each
 * expert transposed; `each` has one for each. False: the family's have no such name. */
bool hf_source_stacked(Arena *a, const HfSource *each, const int64_t *size, bool turned,
                       HfSource *out);
/* Where a convolution of queries, keys or values of linear attention lies in the rows of all three,
 * if `each` is a tensor of its own: their names, in that order, and that of the tensor that has all
 * rows. False: it is something else. */
bool hf_source_joined(Arena *a, const Decoder *d, const HfSource *each, const char *part[3],
                      const char **whole, HfSource *out);
#endif
