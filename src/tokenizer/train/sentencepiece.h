/* sentencepiece.h - learning a SentencePiece model: the parts that its two kinds share.
 *
 * Lines of texts are normalized and cut at blanks into words, which are counted
 * (sentencepiece_words.c). The words are cut into units that no piece can reach over
 * (sentencepiece_units.c), from which a learner makes pieces, and these are written with the
 * settings (sentencepiece_write.c). */
#ifndef TOKENIZER_TRAIN_SENTENCEPIECE_H
#define TOKENIZER_TRAIN_SENTENCEPIECE_H
#include "tokenizer/sentencepiece/file.h"
#include "tokenizer/text/trie.h"
#include "tokenizer/train/train.h"
#include <stdatomic.h>

enum { SP_BLANK = 0x2581, SP_UNKNOWN_CHAR = 0x2585 };

/* A piece that is not learnt. */
typedef struct SpMeta {
    int64_t id;
    Str name;
    SpType type;
} SpMeta;

/* What all threads read. */
typedef struct SpPrepared {
    SpKind kind;
    SpMeta *meta; /* by rising id */
    int64_t n_meta;
    Str charsmap;          /* its bytes */
    SpFile file;           /* with the rules of the normalizer */
    Trie found;            /* names of meta pieces as normalized text has them */
    bool starts[256];      /* first bytes of these */
    uint64_t sentence_key; /* lines whose sp_sentence_order is above are left out */
    _Atomic int64_t *n_too_long, *n_reserved; /* lines left out */
} SpPrepared;

/* Says which setting cannot be met. */
Error *sp_train_check(const TrainSettings *s);
/* Sets the sentence_key below which the wanted number of lines lies. */
Error *sp_choose_lines(const TrainSettings *s, SpPrepared *p);
/* Decides what SentencePiece calls meta pieces, or says which two are in each other's way. */
Error *sp_meta_pieces(Arena *a, const TrainSettings *s, SpMeta **out, int64_t *n);
/* Lines are taken in this order, which is that of the corpus or one by chance. */
uint64_t sp_sentence_order(const SpTrainSettings *s, int64_t place);
/* Whether a line may be learnt from; counts it when not. */
bool sp_sentence_is_good(const SpTrainSettings *s, const SpPrepared *p, Str line);
/* Calls `take` with each line of a text, without its end, and its place. */
void sp_sentences(Str text, int64_t place, void (*take)(void *arg, Str line, int64_t place),
                  void *arg);
Error *sp_cutter_new(Arena *a, const TrainSettings *s, WordCutter **out);

/* A character that becomes a piece. */
typedef struct SpChar {
    uint32_t code, number; /* code points; from 1, in their order */
    int64_t count;
    bool is_required;
} SpChar;

/* A text that pieces may be made of: text[at, at + len), then a zero. */
typedef struct SpUnit {
    uint32_t at, len;
    int64_t count;
} SpUnit;

typedef struct SpUnits {
    SpChar *ch; /* the most frequent first */
    int64_t n_chars;
    uint32_t *code; /* by number from 1, rising; n_chars of them */
    SpUnit *unit;   /* all different, in no order */
    int64_t n_units;
    uint32_t *text; /* numbers of characters */
    int64_t n_text;
} SpUnits;

/* Chooses the characters and cuts the words. Units of one character are left out unless `single`.
 */
Error *sp_units_make(Arena *a, const TrainSettings *s, const WordCounts *words, bool single,
                     SpUnits *out);
/* Whether these characters may be one piece. */
bool sp_piece_is_valid(const SpTrainSettings *s, const uint32_t *code, int64_t n);

typedef struct SpPiece {
    Str name;
    double score;
} SpPiece;

/* In the order of their ids. */
typedef struct SpPieces {
    SpPiece *item;
    int64_t n, cap;
} SpPieces;

void sp_pieces_add(Arena *a, SpPieces *to, Str name, double score);
/* The name of numbered characters. */
Str sp_spell(Arena *a, const SpUnits *u, const uint32_t *number, int64_t n);
/* The learners; `n_wanted` pieces beside the meta pieces, those of all characters included. */
Error *sp_learn_bpe(Arena *a, const TrainSettings *s, const SpUnits *u, int64_t n_wanted,
                    SpPieces *out);
Error *sp_learn_unigram(Arena *a, const TrainSettings *s, const SpUnits *u, int64_t n_wanted,
                        SpPieces *out);
/* Appends the bytes of a model; sets *n_ids. */
Error *sp_write_model(const TrainSettings *s, const SpPieces *pieces, Text *file, int64_t *n_ids);

extern const TrainerKind trainer_sentencepiece_unigram, trainer_sentencepiece_bpe;
#endif
