/* tokenizer_train_settings.c - from the options of `tokenizer train` to the settings of a trainer.
 */
#include "tokenizer/normalize/charsmap_rules.h"
#include "tokenizer_train.h"

static int64_t number_or(const int64_t *given, int64_t otherwise)
{
    return given ? *given : otherwise;
}

static bool flag_or(const bool *given, bool otherwise)
{
    return given ? *given : otherwise;
}

static double real_or(const double *given, double otherwise)
{
    return given ? *given : otherwise;
}

static const char *text_or(const char *given, const char *otherwise)
{
    return given ? given : otherwise;
}

BpeTrainSettings bpe_train_settings(const TrainOptions *o, bool is_wordpiece)
{
    static const char *const end_of_text[] = { "<|endoftext|>" };
    static const char *const of_bert[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
    BpeTrainSettings s = {
        .min_frequency = number_or(o->min_frequency, 2),
        .special_tokens = is_wordpiece ? of_bert : end_of_text,
        .n_special_tokens = is_wordpiece ? 5 : 1,
        .unk_token = is_wordpiece ? "[UNK]" : NULL,
        .limit_alphabet = number_or(o->limit_alphabet, 0),
        .max_token_length = number_or(o->max_token_length, 0),
        .prefix = is_wordpiece ? "##" : NULL,
        .suffix = o->end_of_word_suffix,
        .pre_tokenizer = is_wordpiece ? TRAIN_BERT : TRAIN_BYTE_LEVEL,
        .normalizer = is_wordpiece ? TRAIN_BERT_NORMALIZER : TRAIN_AS_IT_IS,
        .add_prefix_space = flag_or(o->add_prefix_space, false),
        .clean_text = flag_or(o->clean_text, true),
        .handle_chinese_chars = flag_or(o->handle_chinese_chars, true),
        .lowercase = flag_or(o->lowercase, true),
    };
    if (o->special_tokens.n) {
        s.special_tokens = o->special_tokens.item;
        s.n_special_tokens = o->special_tokens.n;
    }
    if (o->unk_token) s.unk_token = o->unk_token;
    if (o->continuing_subword_prefix) s.prefix = o->continuing_subword_prefix;
    if (o->pre_tokenizer) s.pre_tokenizer = (TrainPreTokenizer)*o->pre_tokenizer;
    if (o->normalizer) s.normalizer = (TrainNormalizer)*o->normalizer;
    s.strip_accents = flag_or(o->strip_accents, s.lowercase);
    s.all_bytes = o->initial_alphabet ? *o->initial_alphabet == ALPHABET_BYTES
                                      : train_is_byte_level(s.pre_tokenizer);
    return s;
}

SpTrainSettings sentencepiece_train_settings(const TrainOptions *o)
{
    SpTrainSettings d = sp_train_defaults();
    if (o->normalization_rule_name)
        d.normalization_rule_name = charsmap_rule_names[*o->normalization_rule_name];
    return (SpTrainSettings){
        .normalization_rule_name = d.normalization_rule_name,
        .add_dummy_prefix = flag_or(o->add_dummy_prefix, d.add_dummy_prefix),
        .remove_extra_whitespaces =
            flag_or(o->remove_extra_whitespaces, d.remove_extra_whitespaces),
        .character_coverage = real_or(o->character_coverage, d.character_coverage),
        .required_chars = text_or(o->required_chars, d.required_chars),
        .byte_fallback = flag_or(o->byte_fallback, d.byte_fallback),
        .control_symbols = o->control_symbols.item,
        .n_control_symbols = o->control_symbols.n,
        .user_defined_symbols = o->user_defined_symbols.item,
        .n_user_defined_symbols = o->user_defined_symbols.n,
        .unk_id = number_or(o->unk_id, d.unk_id),
        .bos_id = number_or(o->bos_id, d.bos_id),
        .eos_id = number_or(o->eos_id, d.eos_id),
        .pad_id = number_or(o->pad_id, d.pad_id),
        .unk_piece = text_or(o->unk_piece, d.unk_piece),
        .bos_piece = text_or(o->bos_piece, d.bos_piece),
        .eos_piece = text_or(o->eos_piece, d.eos_piece),
        .pad_piece = text_or(o->pad_piece, d.pad_piece),
        .unk_surface = text_or(o->unk_surface, d.unk_surface),
        .split_by_whitespace = flag_or(o->split_by_whitespace, d.split_by_whitespace),
        .split_by_unicode_script = flag_or(o->split_by_unicode_script, d.split_by_unicode_script),
        .split_by_number = flag_or(o->split_by_number, d.split_by_number),
        .split_digits = flag_or(o->split_digits, d.split_digits),
        .treat_whitespace_as_suffix =
            flag_or(o->treat_whitespace_as_suffix, d.treat_whitespace_as_suffix),
        .allow_whitespace_only_pieces =
            flag_or(o->allow_whitespace_only_pieces, d.allow_whitespace_only_pieces),
        .max_sentencepiece_length =
            number_or(o->max_sentencepiece_length, d.max_sentencepiece_length),
        .max_sentence_length = number_or(o->max_sentence_length, d.max_sentence_length),
        .input_sentence_size = number_or(o->input_sentence_size, d.input_sentence_size),
        .shuffle_input_sentence = flag_or(o->shuffle_input_sentence, d.shuffle_input_sentence),
        .hard_vocab_limit = flag_or(o->hard_vocab_limit, d.hard_vocab_limit),
        .seed_sentencepiece_size = number_or(o->seed_sentencepiece_size, d.seed_sentencepiece_size),
        .num_sub_iterations = number_or(o->num_sub_iterations, d.num_sub_iterations),
        .shrinking_factor = real_or(o->shrinking_factor, d.shrinking_factor),
    };
}

Error *refuse_flags_without_bert(const TrainOptions *o, const BpeTrainSettings *s)
{
    bool given = o->clean_text || o->handle_chinese_chars || o->strip_accents || o->lowercase;
    if (!given || s->normalizer == TRAIN_BERT_NORMALIZER) return NULL;
    return error_usage("--clean_text, --handle_chinese_chars, --strip_accents and --lowercase are "
                       "for --normalizer bert, not for %s",
                       train_normalizers[s->normalizer]);
}
