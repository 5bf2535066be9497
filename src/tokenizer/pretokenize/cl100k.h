/* cl100k.h - the patterns of cl100k, Llama 3 and Qwen 2:
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
 * |\s*[\r\n]+|\s+(?!\S)|\s+, where Qwen has \p{N} alone. */
#ifndef TOKENIZER_PRETOKENIZE_CL100K_H
#define TOKENIZER_PRETOKENIZE_CL100K_H
#include "tokenizer/pretokenize/pretokenize.h"

/* Three numbers make a word, or one; by table, and by blocks of bytes. */
WordSplitter split_cl100k, split_cl100k_avx2, split_cl100k_avx512;
WordSplitter split_qwen2, split_qwen2_avx2, split_qwen2_avx512;

/* The one for this CPU and MODALITIES_CPU; an error when that is wrong. */
Error *split_cl100k_choose(WordSplitter **out);
Error *split_qwen2_choose(WordSplitter **out);

/* The end of the word that starts at `at`; `group` is 3 or 1. */
uint32_t cl100k_word_end(const char *text, uint32_t len, uint32_t at, int group);
/* The bytes of the contraction whose apostrophe is at p, or 0. */
int cl100k_contraction(const char *p);
#endif
