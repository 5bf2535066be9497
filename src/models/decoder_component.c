/* decoder_component.c - model.decoder: a decoder-only transformer described option by option. */
#include "config/builder.h"
#include "models/decoder_settings.h"
#include "ops/moe_route.h"

static const char *const norm_types[] = { "rms", "layer", NULL };
static const char *const linear_choices[] = { "plain", "ternary", NULL };
static const char *const qk_norms[] = { "none", "head", "each_head", "width", NULL };
static const char *const gate_functions[] = { "sigmoid", "softplus", NULL };
static const char *const scores[] = { "softmax", "sigmoid", "mixer", "sqrt_softplus", NULL };
static const char *const overflows[] = { "drop", "stop", NULL };

/* Beyond any model: products of two fit in 64 bits. */
#define MOST 2147483647
/* clang-format off */
static const Field norm_fields[] = {
    FIELD_CHOICE(NormSettings, type, "rms", norm_types, "root mean square, or mean and variance"),
    FIELD_FLOAT(NormSettings, eps, "1e-5", 0, 1, "added to the mean square or the variance", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(NormSettings, weight, "true", "has a learned weight"),
    FIELD_BOOL(NormSettings, bias, "false", "has a learned bias"),
    FIELD_BOOL(NormSettings, from_one, "false", "the weight is stored as its distance to 1"),
    { 0 },
};
static const Field rope_fields[] = {
    FIELD_FLOAT(RopeScaling, base, "10000.0", 1, INFINITY, "base of the frequencies"),
    FIELD_CHOICE(RopeScaling, kind, "none", rope_scaling_choices, "how frequencies are changed for longer texts"),
    FIELD_FLOAT(RopeScaling, factor, "1.0", 0, INFINITY, "times the length; not of none", .flags = FIELD_OPEN_MIN),
    FIELD_INT(RopeScaling, original, "0", 0, MOST, "length of text before; 0: sequence_length"),
    FIELD_FLOAT(RopeScaling, low_freq, "1.0", 0, INFINITY, "llama3: rotations within `original` below which all is scaled", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, high_freq, "4.0", 0, INFINITY, "llama3: above which nothing is", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, beta_fast, "32.0", 0, INFINITY, "yarn: rotations above which nothing is scaled", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, beta_slow, "1.0", 0, INFINITY, "yarn: below which all is", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, attention, "0.0", 0, INFINITY, "multiplies cosines and sines; 0: the own rule of yarn and longrope, else 1"),
    FIELD_BOOL(RopeScaling, truncate, "true", "yarn: bounds are whole features"),
    FIELD_FLOATS(RopeScaling, short_factors, "[]", 0, 0, "longrope: divide each frequency in texts of at most `original` tokens"),
    FIELD_FLOATS(RopeScaling, long_factors, "[]", 0, 0, "longrope: in longer texts"),
    FIELD_FLOAT(RopeScaling, growth, "0.0", 0, INFINITY, "queries of position p are multiplied by 1 + growth log(1 + floor(p / original))"),
    FIELD_INT(RopeScaling, growth_offset, "0", 0, MOST, "added to p there"),
    FIELD_BOOL(RopeScaling, still, "false", "nothing turns: queries grow alone"),
    FIELD_INT(RopeScaling, width, "0", 0, MOST, "features of a head that turn, an even number; 0: all"),
    FIELD_BOOL(RopeScaling, proportional, "false", "these turn by the frequencies that they have where all turn"),
    { 0 },
};
static const Field layer_fields[] = {
    FIELD_INT(LayerSettings, count, "1", 1, MOST, "so many blocks in a row"),
    FIELD_INT(LayerSettings, window, "0", 0, MOST, "keys that a token sees, its own included; 0: all earlier ones"),
    FIELD_STRUCT(LayerSettings, rope, RopeScaling, rope_fields, "null", "of these blocks; null: the model's"),
    FIELD_BOOL(LayerSettings, chunks, "false", "of these keys, only those of the token's own part of the text, where parts are as long as the window"),
    FIELD_BOOL(LayerSettings, no_qk_norm, "false", "no norm of queries and keys, whatever qk_norm says"),
    FIELD_BOOL(LayerSettings, no_sinks, "false", "no learned logits beside the keys, whatever attention_sinks says"),
    FIELD_BOOL(LayerSettings, no_out_bias, "false", "no bias after attention, whatever out_bias says"),
    FIELD_BOOL(LayerSettings, no_mixer_norm, "false", "no norm in front of attention, or of what is in its place, whatever norm_in_front says"),
    FIELD_INT(LayerSettings, head_width, "null", 1, MOST, "of these blocks; null: the model's"),
    FIELD_INT(LayerSettings, n_head_q, "null", 1, MOST, "of these blocks; null: the model's"),
    FIELD_INT(LayerSettings, n_head_kv, "null", 1, MOST, "of these blocks; null: the model's"),
    FIELD_INT(LayerSettings, ffn_hidden, "null", 1, MOST, "of these blocks; null: the model's"),
    FIELD_FLOAT(LayerSettings, sparsity, "0.0", 0, 1, "share of what the activation of their feed-forward layers reads that is 0 instead: what is below a bound that so many of normally distributed numbers are below; 0: all is read", .flags = FIELD_OPEN_MAX),
    FIELD_BOOL(LayerSettings, keys_as_values, "false", "no product of values: they are what that of keys gives, in front of norms and rope"),
    FIELD_BOOL(LayerSettings, shared_kv, "false", "no products of keys and values: attention reads those of the last block before it that has its own and the same window"),
    FIELD_BOOL(LayerSettings, shared_index, "false", "no indexer of sparse_attention: attention sees the tokens that the one of the last block before it that has its own selected"),
    FIELD_INT(LayerSettings, compress, "0", 0, 65536, "with joint_attention: a token sees windows of so many tokens that have ended, too, each as one key; 0: it does not"),
    FIELD_BOOL(LayerSettings, overlaps, "false", "with compress: a window has the tokens of the one before, too, with features of their own"),
    FIELD_BOOL(LayerSettings, selects, "false", "with compress: of the windows a token sees those that the indexer of sparse_attention scores highest"),
    FIELD_BOOL(LayerSettings, no_rope, "false", "positions of these blocks do not turn"),
    FIELD_BOOL(LayerSettings, sparse, "false", "the mixture in the place of the feed-forward layer"),
    FIELD_BOOL(LayerSettings, by_id, "false", "with sparse: a token goes to the experts that a table has for its id, drawn once and kept by training; its router says how much each counts"),
    FIELD_BOOL(LayerSettings, shortcut, "false", "with sparse: these blocks have the feed-forward layer, too; the mixture reads what that reads, and what it gives is added behind the next block"),
    FIELD_BOOL(LayerSettings, linear, "false", "linear attention, or a state space, in the place of attention"),
    FIELD_BOOL(LayerSettings, side_by_side, "false", "attention and the layer of linear side by side behind one norm; what they give is added up"),
    FIELD_BOOL(LayerSettings, conv, "false", "a short convolution in the place of attention"),
    FIELD_BOOL(LayerSettings, no_mixer, "false", "neither attention nor what may be in its place: these blocks are a feed-forward layer, or the mixture, behind one norm"),
    FIELD_BOOL(LayerSettings, no_ffn, "false", "no feed-forward layer: these blocks are attention, or what is in its place, behind one norm"),
    { 0 },
};
#define FACTOR(m, text) FIELD_FLOAT(Multipliers, m, "1.0", 0, INFINITY, text, .flags = FIELD_OPEN_MIN)
static const Field multiplier_fields[] = {
    FACTOR(attention_in, "what attention reads"),
    FACTOR(attention_out, "what it gives"),
    FACTOR(linear_in, "what the layers of linear read"),
    FACTOR(linear_out, "what they give"),
    FACTOR(gates, "of a state space, its gates"),
    FACTOR(values, "its inputs"),
    FACTOR(keys, "its B"),
    FACTOR(queries, "its C"),
    FACTOR(steps, "what its steps come from"),
    FACTOR(ffn_gate, "what the activation of gated feed-forward layers reads"),
    FACTOR(ffn_out, "what feed-forward layers give"),
    FACTOR(attention_stream, "the stream that attention adds to, or attention with a layer of linear beside it"),
    FACTOR(linear_stream, "the stream that the layers of linear add to"),
    FACTOR(ffn_stream, "the stream that feed-forward layers add to"),
    { 0 },
};
#undef FACTOR
static const Field short_conv_fields[] = {
    FIELD_INT(ShortConv, width, "3", 2, 1024, "tokens that a convolution sees"),
    FIELD_BOOL(ShortConv, bias, "false", "biases of products and of convolutions"),
    { 0 },
};
static const Field multi_token_fields[] = {
    FIELD_INT(MultiToken, depth, "1", 1, MAX_AHEAD, "so many tokens after the next one, with a block for each"),
    FIELD_FLOAT(MultiToken, weight, "0.3", 0, INFINITY, "of the mean of their losses in what is lowered", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(MultiToken, behind_norm, "false", "blocks read the stream behind the norm in front of the head, as the weights of DeepSeek V3 want it; exports have the blocks then"),
    { 0 },
};
static const Field differential_fields[] = {
    FIELD_FLOAT(Differential, std, "0.1", 0, INFINITY, "that four learned vectors of each block begin with, which make the share"),
    { 0 },
};
static const Field per_layer_fields[] = {
    FIELD_INT(PerLayerSettings, width, NULL, 1, MOST, "of the vector of a token in a block"),
    FIELD_INT(PerLayerSettings, vocab_size, "null", 1, MOST, "rows of the table; null: as the model's"),
    FIELD_FLOAT(PerLayerSettings, scale, "0.0", 0, INFINITY, "multiplies what the table gives; 0: nothing does"),
    { 0 },
};
static const Field stream_fields[] = {
    FIELD_INT(StreamSettings, streams, "4", 2, 64, "number of streams"),
    FIELD_INT(StreamSettings, active, "0", 0, 63, "the one that the layers of a block read"),
    FIELD_FLOAT(StreamSettings, bound, "0.0", 0, INFINITY, "weights of what predicts and corrects streams count as at most so far from 0 while the model is trained; 0: as they are"),
    FIELD_BOOL(StreamSettings, scale, "false", "with per_layer_embedding: its gates read the active stream times a learned number of each feature"),
    { 0 },
};
static const Field hyper_fields[] = {
    FIELD_INT(HyperSettings, streams, "4", 2, 16, "number of streams"),
    FIELD_INT(HyperSettings, iterations, "20", 0, 1000, "how often columns of the matrix that mixes them are divided by their sums, and rows but once; 0: they are not mixed"),
    FIELD_FLOAT(HyperSettings, eps, "1e-6", 0, 1, "added to weights of reading, and to these sums, or, where streams are not mixed, to weights of writing", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(HyperSettings, write_scale, "2.0", 0, INFINITY, "multiplies the sigmoids that are the weights of writing", .flags = FIELD_OPEN_MIN),
    { 0 },
};
static const Field transform_fields[] = {
    FIELD_CHOICE(TransformSettings, activation, "gelu", activation_choices, "of the product; neither xielu nor clamped_swiglu"),
    FIELD_BOOL(TransformSettings, bias, "false", "a bias of the product"),
    { 0 },
};
static const Field mixture_fields[] = {
    FIELD_INT(Moe, n_experts, NULL, 1, 65536, "number of experts"),
    FIELD_INT(Moe, top_k, NULL, 1, 65536, "experts of a token"),
    FIELD_INT(Moe, hidden, NULL, 1, MOST, "width of an expert"),
    FIELD_INT(Moe, zero_experts, "0", 0, 65536, "so many more experts, behind the others, have no weights: they give a token back as it is, times its weight"),
    FIELD_CHOICE(Moe, score, "softmax", scores, "of the router's logits; sqrt_softplus: the root of log(1 + e^x) of each; mixer: one expert after the other, each by a softmax over those left that are near it"),
    FIELD_FLOAT(Moe, logit_cap, "0.0", 0, INFINITY, "these logits are bent to stay within it; 0: they are not"),
    FIELD_FLOAT(Moe, near, "0.0", 0, 1, "mixer: half of the distance, in shares of logits, up to which experts count beside the one that is chosen"),
    FIELD_BOOL(Moe, normalize, "true", "the weights of a token's experts add up to 1"),
    FIELD_FLOAT(Moe, sum_eps, "0.0", 0, 1, "added to the sum that they are divided by then"),
    FIELD_BOOL(Moe, weigh_inputs, "false", "the weights multiply what a token's experts read, instead of what they give"),
    FIELD_FLOAT(Moe, factor, "1.0", 0, INFINITY, "multiplies the weights", .flags = FIELD_OPEN_MIN),
    FIELD_INT(Moe, n_groups, "0", 0, MOST_EXPERT_GROUPS, "groups of neighbouring experts, of which a token's experts are in the best ones; 0: none"),
    FIELD_INT(Moe, top_groups, "0", 0, MOST_EXPERT_GROUPS, "so many of them: those with the largest score, where scores are of single logits with the largest sum of two"),
    FIELD_FLOAT(Moe, capacity, "0.0", 0, INFINITY, "an expert takes so many times its fair share of a microbatch; 0: all that come"),
    FIELD_CHOICE(Moe, overflow, "drop", overflows, "what is done with more: dropped and counted, or the training stops"),
    FIELD_BOOL(Moe, bias, "false", "biases of the router and of the experts"),
    FIELD_INT(Moe, latent, "0", 0, MOST, "experts read a product of the token that is so wide, and what they give goes through another; 0: they read the token itself"),
    FIELD_INT(Moe, shared_hidden, "0", 0, MOST, "width of an expert that every token goes through; 0: none"),
    FIELD_FLOAT(Moe, shared_factor, "1.0", 0, INFINITY, "multiplies what that one gives", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(Moe, shared_gate, "false", "what that one gives counts by the sigmoid of a product of the token"),
    FIELD_BOOL(Moe, expert_scale, "false", "the weights are multiplied by a learned number of each expert, too"),
    FIELD_BOOL(Moe, beside_ffn, "false", "sparse blocks have the feed-forward layer, too; the mixture reads the stream behind a norm of its own, and what each of the two gives goes through one"),
    FIELD_BOOL(Moe, router_norm, "false", "with beside_ffn: the router reads the stream behind a further norm, divided by the root of the width"),
    FIELD_BOOL(Moe, norm_behind, "false", "what the mixture gives, that of a shared expert included, goes through a norm; without norm_behind of the model, with which all blocks have one"),
    FIELD_FLOAT(Moe, experts_bound, "0.0", 0, INFINITY, "as gate_bound of the model, of experts alone, and not of one that every token goes through; 0: as that"),
    FIELD_FLOAT(Moe, aux_loss, "0.0", 0, INFINITY, "weight of the penalty for uneven load"),
    FIELD_FLOAT(Moe, balance_rate, "0.0", 0, INFINITY, "routers have biases, for the choice alone, that change by so much with each step: up for experts that were chosen too seldom; 0: they have none"),
    FIELD_BOOL(Moe, by_logits, "false", "biases of routers are added to logits, not to scores"),
    FIELD_FLOAT(Moe, z_loss, "0.0", 0, INFINITY, "weight of the penalty for large router logits"),
    { 0 },
};
#define COUNT(m, text) FIELD_INT(DecoderSettings, m, NULL, 1, MOST, text, .flags = FIELD_STRICT)
static const Field fields[] = {
    FIELD_STRING(DecoderSettings, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_STRING(DecoderSettings, prediction_key, NULL, "name of the logits"),
    FIELD_STRING(DecoderSettings, document_key, "null", "name of the documents in a batch: tokens attend within their own; null: to all earlier tokens"),
    COUNT(vocab_size, "number of token ids"),
    COUNT(sequence_length, "longest sequence"),
    FIELD_INT(DecoderSettings, n_layer, NULL, 1, MOST_BLOCKS, "number of blocks", .flags = FIELD_STRICT),
    COUNT(n_embd, "width of the residual stream"),
    FIELD_INT(DecoderSettings, n_head_q, "0", 0, MOST, "number of query heads; 0: no block has attention", .flags = FIELD_STRICT),
    FIELD_INT(DecoderSettings, n_head_kv, "0", 0, MOST, "number of key and value heads; divides n_head_q", .flags = FIELD_STRICT),
    FIELD_INT(DecoderSettings, ffn_hidden, "0", 0, MOST, "width of the feed-forward layer; 0: no block has one, but for mixtures", .flags = FIELD_STRICT),
    FIELD_INT(DecoderSettings, head_width, "null", 1, MOST, "width of a head; null: n_embd / n_head_q"),
    FIELD_INT(DecoderSettings, value_width, "null", 1, MOST, "width of what a head gives; null: as wide as its keys"),
    FIELD_INT(DecoderSettings, embedding_width, "null", 1, MOST, "width of the table of embeddings and of what the head reads, with a product between each and the stream; null: n_embd, and no products"),
    FIELD_INT(DecoderSettings, seed, "0", 0, 0, "of the initial weights"),
    FIELD_FLOAT(DecoderSettings, dropout, "0.0", 0, 1, "after attention and feed-forward layers", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(DecoderSettings, embedding_dropout, "null", 0, 1, "after embeddings; null: as dropout", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(DecoderSettings, attention_dropout, "0.0", 0, 1, "of attention's probabilities", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(DecoderSettings, embedding_scale, "0.0", 0, INFINITY, "multiplies embeddings; 0: nothing does"),
    FIELD_FLOAT(DecoderSettings, attention_scale, "0.0", 0, INFINITY, "multiplies scores; 0: 1 / sqrt(head_width)"),
    FIELD_BOOL(DecoderSettings, scale_by_layer, "false", "scores are divided by the number of the block, too"),
    FIELD_FLOAT(DecoderSettings, attention_cap, "0.0", 0, INFINITY, "scores are bent to stay within it; 0: they are not"),
    FIELD_FLOAT(DecoderSettings, alibi, "0.0", 0, 1024, "scores fall with the distance of the key, by a slope of each head: of n heads 2^(-x/n) to 2^-x; 0: they do not"),
    FIELD_FLOAT(DecoderSettings, alibi_scale, "0.0", 0, INFINITY, "multiplies these slopes; 0: nothing does"),
    FIELD_FLOAT(DecoderSettings, logit_cap, "0.0", 0, INFINITY, "logits likewise"),
    FIELD_FLOAT(DecoderSettings, residual_scale, "0.0", 0, INFINITY, "multiplies what attention and feed-forward layers add to the stream; 0: nothing does"),
    FIELD_FLOAT(DecoderSettings, logit_divisor, "0.0", 0, INFINITY, "logits are divided by it; 0: they are not"),
    FIELD_BOOL(DecoderSettings, learned_positions, "false", "a learned vector for each position"),
    FIELD_FLOAT(DecoderSettings, sinusoidal_base, "0.0", 0, INFINITY, "a fixed vector for each position: sines, then cosines of it times frequencies base^(-2j/n_embd); 0: none"),
    FIELD_INT(DecoderSettings, unused_positions, "0", 0, 65536, "so many vectors of either kind, in front of the others, are of no position"),
    FIELD_BOOL(DecoderSettings, use_weight_tying, "false", "the head uses the embedding's weight"),
    FIELD_BOOL(DecoderSettings, qkv_bias, "false", "biases of queries, keys and values"),
    FIELD_BOOL(DecoderSettings, out_bias, "false", "bias after attention"),
    FIELD_BOOL(DecoderSettings, ffn_bias, "false", "biases of feed-forward layers"),
    FIELD_BOOL(DecoderSettings, head_bias, "false", "bias of the head: one number for each token id"),
    FIELD_CHOICE(DecoderSettings, linear, "plain", linear_choices, "of linear layers of blocks: ternary rounds weights to -1, 0 or 1 times their mean size, and activations to eight bits, whenever they are multiplied"),
    FIELD_BOOL(DecoderSettings, gated, "true", "the activation of one product multiplies another, in experts too"),
    FIELD_CHOICE(DecoderSettings, activation, "silu", activation_choices, "of feed-forward layers and experts"),
    FIELD_FLOAT(DecoderSettings, gate_bound, "0.0", 0, INFINITY, "of gated layers with silu, experts too: what silu reads counts as at most so much, and what it multiplies as within so much; 0: as they are"),
    FIELD_STRUCT(DecoderSettings, norm, NormSettings, norm_fields, "{}", "all norms of the model"),
    FIELD_BOOL(DecoderSettings, block_scale, "false", "the stream behind each block is multiplied by a number of the block, 1 unless it is read from a model; training keeps it"),
    FIELD_BOOL(DecoderSettings, embedding_norm, "false", "a norm of embeddings"),
    FIELD_BOOL(DecoderSettings, norm_in_front, "true", "norms in front of attention and feed-forward layers"),
    FIELD_BOOL(DecoderSettings, norm_behind, "false", "norms of what they give, before it is added"),
    FIELD_BOOL(DecoderSettings, head_norm, "true", "a norm in front of the head"),
    FIELD_STRUCT(DecoderSettings, head_transform, TransformSettings, transform_fields, "null", "the head reads a norm of an activation of a product of the stream, as wide as that and behind head_norm; null: the stream itself"),
    FIELD_BOOL(DecoderSettings, norm_inside, "false", "norms within attention and dense feed-forward layers, of what their last product reads"),
    FIELD_CHOICE(DecoderSettings, residual, "serial", residual_choices, "feed-forward layers read the stream behind attention; or where attention does, behind norms of their own, or behind its norm; normed: behind attention, and layers add to what norms in front of them give; norm_of_sum: behind attention, layers read the stream as it is, and the norms are of the stream with what they added"),
    FIELD_FLOAT(DecoderSettings, qkv_clip, "0.0", 0, INFINITY, "queries, keys and values are kept from -x to x, behind a norm of all heads together; 0: they are not"),
    FIELD_CHOICE(DecoderSettings, qk_norm, "none", qk_norms, "norm of queries and keys: of each head, by weights that all heads share or with its own, or of all together"),
    FIELD_BOOL(DecoderSettings, qk_norm_weight, "true", "this norm has weights, where norms have any"),
    FIELD_BOOL(DecoderSettings, qk_norm_bias, "true", "likewise biases"),
    FIELD_BOOL(DecoderSettings, value_norm, "false", "norm of each head's values, without weights"),
    FIELD_CHOICE(DecoderSettings, attention_gate, "none", attention_gates, "what heads give counts by gates, products of the token: one of each head, or of each of its features"),
    FIELD_CHOICE(DecoderSettings, attention_gate_by, "sigmoid", gate_functions, "what is made of these products: sigmoids, or softplus, log(1 + e^x)"),
    FIELD_BOOL(DecoderSettings, attention_sinks, "false", "each head has a learned logit in its softmax beside those of the keys, so that it may look at nothing"),
    FIELD_BOOL(DecoderSettings, qk_norm_before_rope, "true", "a norm of each head comes before positions turn it, else after"),
    FIELD_STRUCT(DecoderSettings, rope, RopeScaling, rope_fields, "null", "rotary positions; null: none"),
    FIELD_STRUCTS(DecoderSettings, layers, LayerList, layer_fields, "[{}]", 1, 1000, "kinds of blocks in order, again from the first after the last"),
    FIELD_STRUCT(DecoderSettings, differential, Differential, differential_fields, "null", "heads come in pairs of neighbours: a share of what the second sees is taken off what the first sees, and both read the values of both (Differential Transformer); null: each head counts by itself"),
    FIELD_STRUCT(DecoderSettings, joint_attention, JointSettings, joint_settings, "null", "one vector of a token is its key and its value, of all heads, whose results are turned back by the position of the query; null: values are others than keys"),
    FIELD_STRUCT(DecoderSettings, latent, LatentSettings, latent_settings, "null", "Multi-Head Latent Attention: keys and values of all heads come from a narrow vector of the token; null: from the token itself"),
    FIELD_STRUCT(DecoderSettings, sparse_attention, SparseSettings, sparse_settings, "null", "DeepSeek Sparse Attention, of latent: a token sees the tokens that an indexer scores highest; of joint_attention: windows, in blocks with selects; null: all earlier ones"),
    FIELD_STRUCT(DecoderSettings, linear_attention, LinearSettings, linear_settings, "null", "Gated DeltaNet, of linear blocks: heads keep a matrix of what they have read, whatever the length of the text; null: no block is"),
    FIELD_STRUCT(DecoderSettings, state_space, StateSpaceSettings, state_space_settings, "null", "Mamba-2, of linear blocks, in the place of linear_attention; null: no block is"),
    FIELD_STRUCT(DecoderSettings, selective_scan, SelectiveSettings, selective_settings, "null", "Mamba, of linear blocks, in the place of both: a state of its own for each feature; null: no block is"),
    FIELD_STRUCT(DecoderSettings, gated_recurrence, RecurrentSettings, recurrent_settings, "null", "Griffin's recurrence (RG-LRU), of linear blocks, in the place of these: each feature keeps a number that gates let fade and add to, and counts by the activation of a product of the token; null: no block is"),
    FIELD_STRUCT(DecoderSettings, short_conv, ShortConv, short_conv_fields, "null", "gated short convolutions, of conv blocks; null: no block is"),
    FIELD_STRUCT(DecoderSettings, multipliers, Multipliers, multiplier_fields, "null", "numbers that parts of blocks are multiplied by; null: all are 1"),
    FIELD_STRUCT(DecoderSettings, mixture, Moe, mixture_fields, "null", "experts of sparse blocks; null: no block is"),
    FIELD_STRUCT(DecoderSettings, per_layer_embedding, PerLayerSettings, per_layer_fields, "null", "a second table of embeddings, with a vector of each token id for each block: blocks add what it gives behind a gate that the stream opens; null: none"),
    FIELD_STRUCT(DecoderSettings, alternating_updates, StreamSettings, stream_fields, "null", "AltUp: several streams, each as wide as n_embd, of which the layers of a block read one; the block predicts all, and corrects them by what the layers made of that one; null: there is one stream"),
    FIELD_STRUCT(DecoderSettings, hyper_connections, HyperSettings, hyper_fields, "null", "manifold-constrained hyper-connections: several streams, each as wide as n_embd; each layer reads a sum of them, and what it gives is added to all, by weights of the token, which mix the streams, too; null: there is one stream"),
    FIELD_INT(DecoderSettings, laurel_rank, "0", 0, MOST, "LAuReL: beside attention, or what is in its place, blocks add what that reads, and a product of it by a matrix of this rank, behind a norm; 0: they do not"),
    FIELD_INT(DecoderSettings, norm_gate_rank, "0", 0, MOST, "what norms in front of attention, or of what is in its place, and of mixtures give counts by the sigmoid of a product of it by a matrix of this rank, with silu within; 0: it does not"),
    FIELD_STRUCT(DecoderSettings, multi_token, MultiToken, multi_token_fields, "null", "Multi-Token Prediction: further blocks, of the last kind, predict the tokens after the next one while the model is trained; null: none do"),
    { 0 },
};
#undef COUNT
/* clang-format on */

static const Norm *norm_of(Arena *a, const DecoderSettings *s, int64_t width, bool wanted)
{
    if (!wanted) return NULL;
    Norm *n = NEW(a, Norm);
    *n = (Norm){ .type = s->norm.type == 0 ? NORM_RMS : NORM_LAYER,
                 .width = width,
                 .eps = s->norm.eps,
                 .has_weight = s->norm.weight,
                 .has_bias = s->norm.bias,
                 .from_one = s->norm.from_one };
    return n;
}

static const Norm *without_weight(Arena *a, const Norm *usual)
{
    Norm *n = arena_copy(a, usual, sizeof *usual);
    n->has_weight = n->has_bias = n->from_one = false;
    return n;
}

static const Norm *value_norm_of(Arena *a, const DecoderSettings *s, int64_t width)
{
    return s->value_norm ? without_weight(a, norm_of(a, s, width, true)) : NULL;
}

/* `width`: of what a pair gives. */
static const Differential *differential_of(Arena *a, const DecoderSettings *s, int64_t width)
{
    if (!s->differential) return NULL;
    Differential *x = arena_copy(a, s->differential, sizeof *x);
    x->norm = without_weight(a, norm_of(a, s, width, true));
    return x;
}

static const Norm *qk_norm_of(Arena *a, const DecoderSettings *s, int64_t width, bool wanted)
{
    const Norm *usual = norm_of(a, s, width, wanted);
    if (!usual) return NULL;
    if (!s->qk_norm_weight) return without_weight(a, usual);
    Norm *n = arena_copy(a, usual, sizeof *usual);
    n->has_bias &= s->qk_norm_bias;
    return n;
}

/* Of heads of that width. */
static RopeScaling *rope_of(Arena *a, const DecoderSettings *s, const RopeScaling *given,
                            int64_t width)
{
    if (!given) return NULL;
    RopeScaling *r = arena_copy(a, given, sizeof *given);
    if (r->width == width) r->width = r->proportional = 0;
    if (s->latent) r->width = s->latent->rope_width;
    if (r->original == 0) r->original = s->sequence_length;
    if (r->attention == 0)
        r->attention = r->kind == ROPE_YARN   ? rope_yarn_attention(r->factor, 1)
                       : r->kind == ROPE_LONG ? rope_long_attention(r->factor, r->original)
                                              : 1;
    return r;
}

/* 0: that of the model */
static int64_t own_size(const int64_t *given, int64_t otherwise)
{
    return given && *given != otherwise ? *given : 0;
}

/* Blocks of one kind share their rotary table. */
static const DecoderLayer *layers_of(Arena *a, const DecoderSettings *s)
{
    const int64_t n = s->n_layer + (s->multi_token ? s->multi_token->depth : 0);
    DecoderLayer *layer = NEW_N(a, DecoderLayer, n);
    const RopeScaling *common = rope_of(a, s, s->rope, decoder_head_width(s));
    RopeScaling **own = NEW_N(a, RopeScaling *, s->layers.n);
    for (int64_t k = 0; k < s->layers.n; k++) {
        const LayerSettings *x = &s->layers.item[k];
        const RopeScaling *given = !x->rope && x->head_width ? s->rope : x->rope;
        own[k] = rope_of(a, s, given, decoder_layer_head_width(s, x));
    }
    for (int64_t i = 0; i < s->n_layer; i++) {
        const int64_t k = decoder_kind_of_block(s, i);
        const LayerSettings *x = &s->layers.item[k];
        const RopeScaling *rope = own[k] ? own[k] : common;
        layer[i] = (DecoderLayer){ .mixer = x->linear         ? MIXER_LINEAR
                                            : x->side_by_side ? MIXER_BOTH
                                            : x->conv         ? MIXER_CONV
                                            : x->no_mixer     ? MIXER_NONE
                                                              : MIXER_ATTENTION,
                                   .window = x->window,
                                   .chunks = x->chunks,
                                   .no_qk_norm = x->no_qk_norm,
                                   .no_sinks = x->no_sinks,
                                   .no_out_bias = x->no_out_bias,
                                   .no_mixer_norm = x->no_mixer_norm,
                                   .head_width = own_size(x->head_width, decoder_head_width(s)),
                                   .n_head_q = own_size(x->n_head_q, s->n_head_q),
                                   .n_head_kv = own_size(x->n_head_kv, s->n_head_kv),
                                   .keys_as_values = x->keys_as_values,
                                   .compress = x->compress,
                                   .overlaps = x->overlaps,
                                   .selects = x->selects,
                                   .shared_kv = x->shared_kv,
                                   .shared_index = x->shared_index,
                                   .rope = rope,
                                   .n_rope = rope && !x->no_rope && decoder_layer_attends(x),
                                   .is_sparse = x->sparse,
                                   .by_id = x->by_id,
                                   .shortcut = x->shortcut,
                                   .no_ffn = x->no_ffn,
                                   .hidden = own_size(x->ffn_hidden, s->ffn_hidden),
                                   .sparsity = x->sparsity };
    }
    for (int64_t i = s->n_layer; i < n; i++) layer[i] = layer[i - 1];
    return layer;
}

static const LinearAttention *linear_of(Arena *a, const DecoderSettings *s)
{
    const Norm *front = norm_of(a, s, s->n_embd, true);
    if (s->state_space) return state_space_settings_make(a, s->state_space, front);
    return s->linear_attention ? linear_settings_make(a, s->linear_attention, front) : NULL;
}

static const Moe *mixture_of(Arena *a, const DecoderSettings *s)
{
    if (!s->mixture) return NULL;
    Moe *m = arena_copy(a, s->mixture, sizeof *s->mixture);
    m->activation = (Activation)s->activation;
    m->is_plain = !s->gated;
    m->gate_bound = s->gate_bound;
    return m;
}

static const PerLayerEmbedding *per_layer_of(Arena *a, const DecoderSettings *s)
{
    const PerLayerSettings *given = s->per_layer_embedding;
    if (!given) return NULL;
    PerLayerEmbedding *p = NEW(a, PerLayerEmbedding);
    *p = (PerLayerEmbedding){ .width = given->width,
                              .vocab_size = given->vocab_size ? *given->vocab_size : s->vocab_size,
                              .scale = given->scale,
                              .norm = norm_of(a, s, given->width, true),
                              .post_norm = norm_of(a, s, s->n_embd, true) };
    return p;
}

static const Streams *streams_of(Arena *a, const DecoderSettings *s)
{
    const StreamSettings *given = s->alternating_updates;
    if (!given) return NULL;
    const Streams made = { given->streams, given->active, given->bound, given->scale };
    return arena_copy(a, &made, sizeof made);
}

static const HyperConnections *hyper_of(Arena *a, const DecoderSettings *s)
{
    const HyperSettings *given = s->hyper_connections;
    if (!given) return NULL;
    const HyperConnections made = { given->streams, given->iterations, given->eps,
                                    without_weight(a, norm_of(a, s, s->n_embd, true)),
                                    given->write_scale };
    return arena_copy(a, &made, sizeof made);
}

static const HeadTransform *transform_of(Arena *a, const DecoderSettings *s)
{
    const TransformSettings *given = s->head_transform;
    if (!given) return NULL;
    const HeadTransform made = { (Activation)given->activation, given->bias,
                                 norm_of(a, s, s->n_embd, true) };
    return arena_copy(a, &made, sizeof made);
}

static void set_norms(Arena *a, const DecoderSettings *s, Decoder *d)
{
    const bool two = s->residual != RESIDUAL_ONE_NORM;
    d->embedding_norm = norm_of(a, s, s->n_embd, s->embedding_norm);
    d->attention_norm = norm_of(a, s, s->n_embd, s->norm_in_front);
    d->attention_post_norm = norm_of(a, s, s->n_embd, s->norm_behind);
    d->ffn_norm = norm_of(a, s, s->n_embd, s->norm_in_front && two);
    d->ffn_post_norm = norm_of(a, s, s->n_embd, s->norm_behind);
    d->inner_norm = norm_of(a, s, s->n_embd, s->norm_inside);
    d->head_norm = norm_of(a, s, s->n_embd, s->head_norm);
}

/* What is made of several settings. */
static void set_parts(Arena *a, const DecoderSettings *s, Decoder *d)
{
    const int64_t width = d->head_width;
    const bool by_head = s->qk_norm == QK_HEAD || s->qk_norm == QK_EACH_HEAD;
    d->usual_norm = norm_of(a, s, s->n_embd, true);
    d->qk_norm = qk_norm_of(a, s, width, by_head);
    d->qk_norm_width = qk_norm_of(a, s, width * s->n_head_q, s->qk_norm == QK_WIDTH);
    d->value_norm = value_norm_of(a, s, d->value_width ? d->value_width : width);
    d->differential = differential_of(a, s, 2 * (d->value_width ? d->value_width : width));
    if (s->latent) d->latent = latent_settings_make(a, s->latent, d->usual_norm);
    if (s->joint_attention)
        d->joint = joint_settings_make(a, s->joint_attention, d->usual_norm, width);
    if (s->sparse_attention)
        d->sparse =
            sparse_settings_make(a, s->sparse_attention, s->joint_attention ? d->usual_norm : NULL);
    d->linear = linear_of(a, s);
    if (s->selective_scan) d->selective = selective_settings_make(a, s->selective_scan, s->n_embd);
    if (s->gated_recurrence) d->recurrent = recurrent_settings_make(a, s->gated_recurrence);
    d->layer = layers_of(a, s);
    d->moe = mixture_of(a, s);
    d->per_layer = per_layer_of(a, s);
    d->streams = streams_of(a, s);
    d->hyper = hyper_of(a, s);
    d->head_transform = transform_of(a, s);
    d->short_conv = s->short_conv;
    d->multipliers = s->multipliers;
    d->laurel_rank = s->laurel_rank;
    d->norm_gate_rank = s->norm_gate_rank;
    d->multi_token = s->multi_token;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const DecoderSettings *s = settings;
    Arena *a = builder_arena(b);
    Decoder *d = NEW(a, Decoder);
    *d = (Decoder){
        .name = "decoder",
        .block_class = "DecoderBlock",
        .sample_key = s->sample_key,
        .prediction_key = s->prediction_key,
        .document_key = s->document_key,
        .vocab_size = s->vocab_size,
        .sequence_length = s->sequence_length,
        .n_layer = s->n_layer,
        .width = s->n_embd,
        .n_head_q = s->n_head_q,
        .n_head_kv = s->n_head_kv,
        .head_width = decoder_head_width(s),
        .value_width = own_size(s->value_width, decoder_head_width(s)),
        .embedding_width = own_size(s->embedding_width, s->n_embd),
        .hidden = s->ffn_hidden,
        .seed = s->seed,
        .dropout = s->dropout,
        .embedding_dropout = s->embedding_dropout ? *s->embedding_dropout : s->dropout,
        .attention_dropout = s->attention_dropout,
        .embedding_scale = s->embedding_scale,
        .attention_scale = s->attention_scale,
        .scale_by_layer = s->scale_by_layer,
        .attention_cap = s->attention_cap,
        .alibi = s->alibi,
        .alibi_scale = s->alibi_scale,
        .logit_cap = s->logit_cap,
        .attention_gate = (AttentionGate)s->attention_gate,
        .softplus_gates = s->attention_gate_by == GATE_BY_SOFTPLUS,
        .attention_sinks = s->attention_sinks,
        .residual = (Residual)s->residual,
        .residual_scale = s->residual_scale,
        .logit_divisor = s->logit_divisor,
        .learned_positions = s->learned_positions,
        .sinusoidal_base = s->sinusoidal_base,
        .unused_positions = s->unused_positions,
        .is_tied = s->use_weight_tying,
        .qkv_bias = s->qkv_bias,
        .out_bias = s->out_bias,
        .ffn_bias = s->ffn_bias,
        .head_bias = s->head_bias,
        .is_ternary = s->linear == LINEAR_TERNARY,
        .activation = (Activation)s->activation,
        .is_gated = s->gated,
        .gate_bound = s->gate_bound,
        .qkv_clip = s->qkv_clip,
        .qk_norm_by_head = s->qk_norm == QK_EACH_HEAD,
        .qk_norm_before_rope = s->qk_norm_before_rope,
        .block_scale = s->block_scale,
    };
    set_parts(a, s, d);
    set_norms(a, s, d);
    *out = decoder_new(a, d);
    return NULL;
}

const ComponentDef model_decoder = {
    .kind = "model",
    .variant = "decoder",
    .doc = "decoder-only transformer option by option, mixtures of experts included; the families "
           "of Hugging Face are such descriptions",
    .fields = fields,
    .settings_size = sizeof(DecoderSettings),
    .check = decoder_settings_check,
    .build = build,
};
