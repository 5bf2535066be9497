"""Random decoders on random meshes learn what one rank learns, and go on on another mesh as if nothing had happened.

usage: random_meshes.py PROGRAM [SEED|FIRST-LAST] [--show]     run by `make check-random`

Each seed draws the options of a `model.decoder`, what is wrapped around it, an optimizer, a mesh with its layout, and a second mesh. Four steps
of one rank give losses, norms of gradients and losses of evaluations; the mesh must give the same, and so must four steps of which the last two go
on on the second mesh. Ranks along tp and pp answer prompts as one rank does. A refusal that names what cannot be (REFUSALS) is counted; a crash, a
hang or other numbers are failures. Of these some are no fault: two experts (or windows) of nearly the same score for a token, where rounding chooses, which one
rank does in another way with MODALITIES_CPU=scalar, or another accumulation. Needs Python alone.
"""
import argparse, json, pathlib, pickle, random, struct, subprocess, sys, tempfile

# What a drawn model or layout may be refused for; any other end is a failure.
REFUSALS = ("do not divide", "stages", "cannot be cut into", "needs at least", "allowed are divisors", "hides the transfers", "asks for others", "needs residual",
            "model.qk_clip: ", "leaves all parameters with decay", "take all of its parameters",
            "can be continued up to")
LETTERS = [chr(c) for c in range(33, 127)]
SEQUENCE, SAMPLES, STEPS, SECONDS, NEAR = 32, 8, 4, 300, 5e-4
# Of norms, step by step, where numbers are rounded to few bits: now and then to a neighbour. Losses are nearer.
NEAR_ROUNDED, LOSSES = (5e-3, 2e-2, 0.3, 0.5), 0.04


def draw_mixer(r, model):
    kind = r.choice(["attention"] * 4 + ["linear", "space", "selective", "recurrent", "conv", "both", "single", "latent", "joint"])
    layers = [{"count": 1}]
    if kind == "linear":
        keys = r.choice([2, 4])
        model["linear_attention"] = dict(key_heads=keys, value_heads=keys * r.choice([1, 2]), key_width=8, value_width=r.choice([8, 12]), negative=r.random() < 0.3,
                                         decay=r.choice(["head", "feature"]), decay_rank=r.choice([0, 6]), decay_bound=r.choice([0.0, 0.0, 4.0]), gate=r.choice(["silu", "sigmoid"]), gate_rank=r.choice([0, 8]),
                                         norm=r.choice(["head", "width"]), conv_width=r.choice([0, 4]), eps=1e-3)
        if r.random() < 0.3:
            model["linear_attention"] |= dict(decay="fixed", decay_rank=0, decay_bound=0.0, negative=False)
        layers = [{"count": r.choice([1, 3]), "linear": True}, {}]
    elif kind in ("space", "both"):
        groups = r.choice([1, 2, 4])
        model["state_space"] = dict(heads=groups * r.choice([1, 2]), head_width=8, state_width=8, n_groups=groups, bias=r.random() < 0.3, norm_first=r.random() < 0.3)
        layers = [{"linear": True}, {}] if kind == "space" else [{"side_by_side": True}]
    elif kind == "selective":
        model["selective_scan"] = dict(width=r.choice([32, 40, 48]), state_width=r.choice([4, 8]), step_rank=r.choice([0, 3]), bias=r.random() < 0.3,
                                       norms=r.choice(["none", "plain", "weight"]))
        layers = [{"count": r.choice([1, 3]), "linear": True}, {}]
    elif kind == "recurrent":
        groups = r.choice([1, 2, 4])
        model["gated_recurrence"] = dict(width=groups * r.choice([8, 12]), n_groups=groups, conv_bias=r.random() < 0.5, bias=r.random() < 0.5)
        layers = [{"count": r.choice([1, 3]), "linear": True}, {}]
    elif kind == "conv":
        model["short_conv"] = dict(width=r.choice([2, 3, 4]), bias=r.random() < 0.3)
        layers = [{"conv": True}, {}]
    elif kind == "single":
        layers = [{"no_ffn": True}, {"no_mixer": True}]
    elif kind == "latent":
        model |= dict(n_head_kv=model["n_head_q"], head_width=12, qk_norm="none", qkv_clip=0.0,
                      latent=dict(key_rank=16, query_rank=r.choice([0, 20]), rope_width=4, value_width=r.choice([8, 12]), key_scale=r.choice([1.0, 1.5])))
        if model["latent"]["query_rank"] and r.random() < 0.6:
            model |= dict(sparse_attention=dict(heads=2, width=r.choice([4, 12]), top_k=r.choice([5, 40]), index_loss=r.choice([0.0, 0.5])), attention_cap=0.0, alibi=0.0, alibi_scale=0.0)
            layers = r.choice([layers, [{}, {"shared_index": "multi_token" not in model}]])
    elif kind == "joint":
        layers = draw_joint(r, model)
    if r.random() < 0.2 and kind == "attention":
        layers = [{"head_width": r.choice([8, 12]), "n_head_kv": r.choice([model["n_head_kv"], model["n_head_q"]]), "keys_as_values": r.random() < 0.5}, {}]
        if r.random() < 0.5:
            layers[0]["rope"] = dict(base=1000.0, width=4, proportional=True)
        model |= dict(value_norm=r.random() < 0.5, block_scale=r.random() < 0.5)
    elif r.random() < 0.3 and kind == "attention":
        layers = [{"window": r.choice([4, 12])}, {"no_rope": r.random() < 0.5}]
        layers[0]["chunks"] = r.random() < 0.4
        if layers[1]["no_rope"] and r.random() < 0.4:
            layers[1] = {"rope": dict(still=True, growth=0.5, growth_offset=1, original=5), "no_qk_norm": model["qk_norm"] != "none"}
    elif r.random() < 0.2 and kind == "attention":
        model["value_width"] = r.choice([4, 6, 12])
        layers = [{"window": 12, "n_head_kv": model["n_head_q"]}, {"no_sinks": model["attention_sinks"], "no_out_bias": model["out_bias"]}]
    elif r.random() < 0.3 and kind == "attention":
        layers = [{"window": r.choice([0, 12])}, {}, {"shared_kv": True, "ffn_hidden": r.choice([48, 72])}]
        if layers[0]["window"] and r.random() < 0.5:
            layers.append({"shared_kv": True, "window": layers[0]["window"]})
        model["multi_token"] = None
    if kind == "attention" and r.random() < 0.2:
        layers[-1]["n_head_q"] = 2 * model["n_head_q"]
    if r.random() < 0.15:
        model |= dict(alternating_updates=dict(streams=r.choice([2, 3, 4]), active=r.choice([0, 1]), bound=r.choice([0.0, 0.3])), multi_token=None)
    elif r.random() < 0.15 and model.get("residual", "serial") == "serial":
        model |= dict(hyper_connections=dict(streams=r.choice([2, 3, 4]), iterations=r.choice([0, 1, 3]), eps=r.choice([1e-6, 1e-2]), write_scale=r.choice([2.0, 2.0, 1.5])), multi_token=None)
        return layers
    if r.random() < 0.15 and model.get("residual", "serial") == "serial":
        model["laurel_rank"] = r.choice([4, 8])
    if r.random() < 0.2:
        model["per_layer_embedding"] = dict(width=r.choice([8, 12]), scale=r.choice([0.0, 3.0]), vocab_size=r.choice([None, 100, 60]))
    return layers


def draw_joint(r, model):
    """Attention with one vector for key and value, and its layers: those that see windows of tokens, too, and others."""
    groups = r.choice([0, 0, 1, 2, model["n_head_q"]])
    model |= dict(n_head_kv=1, qk_norm="none", qkv_bias=False, qkv_clip=0.0, attention_cap=0.0, alibi=0.0, alibi_scale=0.0,
                  joint_attention=dict(query_rank=r.choice([0, 12, 20]), output_groups=groups, output_rank=r.choice([4, 6]) if groups else 0))
    layers = [{"window": r.choice([4, 6, 12])} if r.random() < 0.7 else {} for _ in range(r.choice([1, 2, 3]))]
    for layer in layers:
        if r.random() < 0.7:
            layer |= dict(compress=r.choice([2, 3, 4, 8, 32, 40]), overlaps=r.random() < 0.5, selects=model["joint_attention"]["query_rank"] > 0 and r.random() < 0.5)
        if r.random() < 0.3:
            layer |= r.choice([dict(no_rope=True), dict(rope=dict(base=100.0, width=4))])
    if any(layer.get("selects") for layer in layers):
        model["sparse_attention"] = dict(heads=r.choice([1, 2, 3]), width=r.choice([8, 12]), top_k=r.choice([1, 2, 5, 40]), index_loss=r.choice([0.0, 0.5]))
    if r.random() < 0.2:
        layers.insert(r.randrange(len(layers) + 1), {"conv": True})
        model["short_conv"] = dict(width=3)
    return layers


def draw_rope(r, model, layers):
    """How positions turn: frequencies of each kind, of a part of each head."""
    turning = model["latent"]["rope_width"] if "latent" in model else model["head_width"]
    kind = r.choice(["none"] * 4 + ["linear", "dynamic", "llama3", "yarn", "longrope"])
    if kind == "longrope" and any("head_width" in layer for layer in layers):
        kind = "yarn"
    rope = dict(base=1000.0, kind=kind)
    if kind != "none":
        rope |= dict(factor=r.choice([2.0, 8.0]), original=r.choice([16, 64]))
    if kind != "longrope" and "latent" not in model and r.random() < 0.3:
        rope |= dict(width=4, proportional=kind in ("none", "linear") and "sparse_attention" not in model and r.random() < 0.5)
    if kind == "longrope":
        rope |= {key: [r.uniform(1.0, 4.0) for _ in range(turning // 2)] for key in ("short_factors", "long_factors")}
    if "joint_attention" not in model and r.random() < 0.15:
        rope |= dict(growth=0.5, growth_offset=r.choice([0, 1]), original=5 if kind == "none" else rope["original"])
    return rope


def draw_norms(r, model, layers):
    """Where norms stand, and what they have."""
    residual, norm, mixture = model["residual"], model["norm"], model.get("mixture", {})
    if r.random() < 0.25 and not mixture.get("norm_behind"):
        model |= dict(norm_behind=True, norm_in_front=residual in ("one_norm", "normed", "norm_of_sum") or r.random() < 0.5)
    if r.random() < 0.15 and not mixture and any(not layer.get("linear") and not layer.get("conv") for layer in layers):
        model["norm_inside"] = True
        norm["eps"] = 1e-3  # a hidden layer may give next to nothing, too
    if r.random() < 0.15 and model["qk_norm"] != "each_head":
        norm |= dict(weight=False, bias=False, from_one=False)
    if model["qk_norm"] in ("head", "width") and norm.get("weight", True):
        model["qk_norm_weight"] = r.random() < 0.7
        if norm.get("bias") and model["qk_norm_weight"]:
            model["qk_norm_bias"] = r.random() < 0.5
    grows = [x for x in [model["rope"], *(layer.get("rope") for layer in layers)] if x and x.get("growth")]
    if model["qk_norm"] in ("head", "each_head") and not grows:
        model["qk_norm_before_rope"] = r.random() < 0.6
    for kind in ("linear_attention", "state_space"):
        if kind in model and residual in ("serial", "normed") and not any(layer.get("side_by_side") for layer in layers):
            model[kind]["norm_in_front"] = r.random() < 0.3
    for layer in layers:
        if model.get("norm_in_front", True) and not layer.get("no_mixer") and r.random() < 0.1:
            layer["no_mixer_norm"] = True


def draw_factors(r, model, layers):
    """Numbers that parts of the model are multiplied by."""
    attends = any(not (layer.get("linear") or layer.get("conv") or layer.get("no_mixer")) for layer in layers)
    linear = any(layer.get("linear") or layer.get("side_by_side") for layer in layers)
    keys = ["ffn_out"] if any(not layer.get("no_ffn") for layer in layers) else []
    keys += ["attention_in", "attention_out"] if attends else []
    keys += ["linear_in", "linear_out"] if linear else []
    keys += ["gates", "values", "keys", "queries", "steps"] if "state_space" in model else []
    if model["gated"] and any(not layer.get("no_ffn") and (not layer.get("sparse") or layer.get("shortcut")) for layer in layers):
        keys.append("ffn_gate")
    if model["residual"] in ("serial", "normed") and "hyper_connections" not in model:
        keys += ["attention_stream"] if attends else []
        keys += ["linear_stream"] if any(layer.get("linear") for layer in layers) else []
    if r.random() < 0.3:
        model["multipliers"] = model.get("multipliers", {}) | {key: r.choice([0.7, 1.4]) for key in keys if r.random() < 0.5}
    for key, values in dict(embedding_scale=[3.0], attention_scale=[0.2], residual_scale=[0.6], logit_divisor=[2.0]).items():
        if r.random() < 0.15:
            model[key] = r.choice(values)
    model["scale_by_layer"] = r.random() < 0.1


def draw_mixture(r, model, layers):
    """Further settings of a mixture. With `aux_loss` and `capacity` it counts which tokens make a microbatch."""
    m = model["mixture"]
    if m["score"] != "mixer":
        m |= dict(normalize=r.random() < 0.7, factor=r.choice([1.0, 1.0, 2.5]), sum_eps=r.choice([0.0, 1e-3]))
        m["by_logits"] = m["balance_rate"] > 0 and r.random() < 0.3
        if not m["zero_experts"] and r.random() < 0.25:
            m |= dict(n_groups=2, top_groups=r.choice([1, 2]))
            m["top_k"] = min(m["top_k"], m["top_groups"] * m["n_experts"] // 2)
    m["shared_gate"] = m["shared_hidden"] > 0 and r.random() < 0.4
    m["aux_loss"] = r.choice([0.0, 0.0, 0.02])
    m["capacity"] = r.choice([0.0, 0.0, 0.0, 1.25])


def is_by_microbatch(model, masks):
    """Whether it counts which samples make a microbatch. Those with more targets count as much as others, in what is reported, and in evaluations, whose batches are never cut."""
    return masks or any(model.get("mixture", {}).get(key, 0) > 0 for key in ("aux_loss", "capacity"))


def draw_rest(r, model):
    """What the other functions have left out."""
    layers = model["layers"]
    is_latent = "latent" in model
    if model["rope"] and r.random() < 0.5:
        model["rope"] = draw_rope(r, model, layers)
    if "mixture" in model:
        draw_mixture(r, model, layers)
    draw_norms(r, model, layers)
    draw_factors(r, model, layers)
    model["head_bias"] = r.random() < 0.2
    if model.get("dropout"):
        model["embedding_dropout"] = r.choice([None, 0.0, 0.2])
    if r.random() < 0.3:
        plain = not model["gated"] and "mixture" not in model and "per_layer_embedding" not in model
        model["activation"] = r.choice(["gelu_tanh", "relu", *(["clamped_swiglu"] if model["gated"] else []), *(["xielu"] if plain and "gated_recurrence" not in model else [])])
    if model["gated"] and model["activation"] == "silu" and r.random() < 0.3:
        model["gate_bound"] = 0.5
    if model.get("multi_token"):
        model["multi_token"]["behind_norm"] = r.random() < 0.5
    if model.get("differential") is not None:
        model["differential"]["std"] = r.choice([0.1, 0.4])
    if "state_space" in model:
        x = model["state_space"]
        x |= dict(conv_width=r.choice([2, 4]), conv_bias=r.random() < 0.5, skip=r.random() < 0.7, norm=x["norm_first"] or r.random() < 0.8,
                  least_step=r.choice([0.0, 0.4]), most_step=r.choice([0.0, 0.9]))
    if "selective_scan" in model:
        model["selective_scan"] |= dict(conv_width=r.choice([2, 4]), conv_bias=r.random() < 0.5)
    if is_latent and model["latent"]["query_rank"]:
        model["latent"] |= dict(query_scale=r.choice([1.0, 2.0]), query_joined=r.random() < 0.3)
    gates_fit = model["residual"] == "serial" and model.get("norm_in_front", True) and not model.get("mixture", {}).get("beside_ffn") and not any(x.get("shortcut") for x in layers)
    if gates_fit and any(x.get("sparse") or not (x.get("no_mixer") or x.get("no_mixer_norm")) for x in layers) and r.random() < 0.15:
        model["norm_gate_rank"] = r.choice([4, 12])
    for layer in layers:
        attends = not (layer.get("linear") or layer.get("conv") or layer.get("no_mixer"))
        feeds = not layer.get("no_ffn") and (not layer.get("sparse") or layer.get("shortcut") or model["mixture"].get("beside_ffn"))
        if attends and ("sparse_attention" not in model or "joint_attention" in model) and not any("window" in x or x.get("shared_kv") for x in layers) and r.random() < 0.15:
            layer["window"] = r.choice([4, 12])
        if feeds and "ffn_hidden" not in layer and r.random() < 0.15:
            layer["ffn_hidden"] = 72
    if r.random() < 0.2 and not any(layer.get("compress") for layer in layers):
        model["document_key"] = "documents"
    others = ("mixture", "latent", "joint_attention", "hyper_connections", "linear_attention", "gated_recurrence", "state_space", "selective_scan", "short_conv", "per_layer_embedding")
    if not any(key in model for key in others) and r.random() < 0.1:
        model["linear"] = "ternary"
        model.pop("alternating_updates", None)
        model.pop("laurel_rank", None)
        model.pop("norm_gate_rank", None)


def draw_model(r):
    heads = r.choice([2, 4, 8])
    model = dict(sample_key="input_ids", prediction_key="logits", vocab_size=r.choice([96, 97, 94]), sequence_length=SEQUENCE, n_layer=r.choice([2, 3, 4, 5]),
                 n_embd=r.choice([32, 48, 40]), n_head_q=heads, n_head_kv=r.choice([h for h in (1, 2, 4, 8) if heads % h == 0]), head_width=8,
                 ffn_hidden=r.choice([48, 64, 52]), seed=r.randrange(1000), use_weight_tying=r.random() < 0.4, qkv_bias=r.random() < 0.3, out_bias=r.random() < 0.3,
                 ffn_bias=r.random() < 0.3, gated=r.random() < 0.6, activation=r.choice(["silu", "gelu", "relu_squared", "quick_gelu"]),
                 residual=r.choice(["serial"] * 3 + ["two_norms", "one_norm", "norm_of_sum"]), qk_norm=r.choice(["none", "none", "head", "each_head", "width"]),
                 attention_gate=r.choice(["none", "none", "head", "feature"]), attention_sinks=r.random() < 0.2, attention_cap=r.choice([0.0, 0.0, 5.0]),
                 logit_cap=r.choice([0.0, 0.0, 8.0]), qkv_clip=r.choice([0.0, 0.0, 2.0]), learned_positions=r.random() < 0.2, rope={"base": 1000.0},
                 norm=dict(type=r.choice(["rms", "layer"]), bias=r.random() < 0.3, from_one=r.random() < 0.3))
    if r.random() < 0.2:
        model |= dict(alibi=8.0, alibi_scale=r.choice([0.0, 0.5]), attention_cap=0.0, rope=r.choice([None, model["rope"]]))
    if model["attention_gate"] != "none":
        model["attention_gate_by"] = r.choice(["sigmoid", "softplus"])
    model["embedding_norm"] = r.random() < 0.2
    if r.random() < 0.15:
        model["head_transform"] = dict(activation=r.choice(["gelu", "silu", "relu"]), bias=r.random() < 0.5)
    model |= dict(head_norm=r.random() < 0.9, embedding_width=r.choice([None] * 5 + [12, 40]))
    model["sinusoidal_base"] = 0.0 if model["learned_positions"] else r.choice([0.0] * 6 + [100.0])
    model["unused_positions"] = r.choice([0, 2]) if model["learned_positions"] or model["sinusoidal_base"] else 0
    if r.random() < 0.2:
        model |= dict(dropout=0.1, attention_dropout=r.choice([0.0, 0.1]))
    if r.random() < 0.15:
        model |= dict(multi_token=dict(depth=r.choice([1, 2]), weight=0.5), head_norm=True)
    layers = draw_mixer(r, model)
    if model["n_head_kv"] % 2 == 0 and "latent" not in model and r.random() < 0.15:
        model["differential"] = {}
    if any("no_ffn" in layer for layer in layers):
        model["residual"] = "serial"
    if model["qk_norm"] == "each_head":
        model |= r.choice([dict(norm=dict(type="rms")), dict(norm=dict(type="layer", bias=True), qk_norm_bias=False)])
    if r.random() < 0.35:
        n = r.choice([4, 8])
        model["mixture"] = dict(n_experts=n, top_k=r.choice([1, 2, 3]), hidden=r.choice([16, 24]), score=r.choice(["softmax", "sigmoid", "sqrt_softplus"]), shared_hidden=r.choice([0, 0, 20]),
                                bias=r.random() < 0.2, weigh_inputs=r.random() < 0.2, z_loss=r.choice([0.0, 0.01]), balance_rate=r.choice([0.0, 0.01]))
        if model["residual"] == "serial" and r.random() < 0.3:
            model["mixture"] |= dict(beside_ffn=True, router_norm=r.random() < 0.5)
        if r.random() < 0.15:
            model["mixture"] |= dict(score="mixer", near=0.3, normalize=False, balance_rate=0.0)
        model["mixture"]["logit_cap"] = r.choice([0.0, 0.0, 0.5])
        model["mixture"]["shared_factor"] = 0.5 if model["mixture"]["shared_hidden"] and r.random() < 0.3 else 1.0
        model["mixture"]["expert_scale"] = r.random() < 0.2
        model["mixture"]["norm_behind"] = r.random() < 0.2
        model["mixture"]["latent"] = r.choice([0, 0, 0, 16])
        model["mixture"]["zero_experts"] = r.choice([0, 0, 1, 3])
        for layer in layers:
            if not layer.get("no_ffn") and (r.random() < 0.7 or layer is layers[-1]):
                layer["sparse"] = True
                layer.pop("ffn_hidden", None)
        for layer in layers:
            if layer.get("sparse") and model["mixture"]["score"] != "mixer" and not model.get("multi_token") and r.random() < 0.2:
                layer["by_id"] = True
        period = [layer for layer in layers for _ in range(layer.get("count", 1))]
        for layer in layers:  # the last block has none behind it
            if model["residual"] == "serial" and "beside_ffn" not in model["mixture"] and "hyper_connections" not in model and layer is not period[(model["n_layer"] - 1) % len(period)]:
                layer["shortcut"] = layer.get("sparse", False) and r.random() < 0.5
    if model["residual"] == "serial" and "beside_ffn" not in model.get("mixture", {}) and not any("shortcut" in layer for layer in layers) and r.random() < 0.1:
        model.pop("hyper_connections", None)
        model |= dict(residual="normed", multipliers=dict(ffn_stream=0.5, ffn_out=1.5))
    if model.get("linear_attention", {}).get("conv_width") == 0:
        model["norm"]["eps"] = 1e-3  # what heads give may be next to nothing, and a norm of that makes much of rounding
    model["layers"] = layers
    draw_rest(r, model)
    return model


def draw_wrapper(r, model):
    """What stands around the model: a variant and its settings, or None."""
    attends = any(not (layer.get("linear") or layer.get("conv") or layer.get("no_mixer")) for layer in model["layers"])
    plain = model["qk_norm"] == "none" and not any(key in model for key in ("differential", "joint_attention", "sparse_attention", "linear")) and not model["qkv_clip"]
    clips = attends and plain and not any(layer.get("shared_kv") for layer in model["layers"])
    return r.choice([("averaged", dict(decay=0.5)), ("lora", dict(rank=4, also_trained=["@norms"] if model["norm"].get("weight", True) else [])), ("frozen", dict(parameters=["@embeddings", "transformer.h.0.*"])),
                     ("qk_clip", dict(threshold=0.01)) if clips else None])


def draw_layout(r, model, masks):
    """Degrees of a mesh of 2 to 8 ranks, and how a model is shared over it."""
    left, degree = r.choice([2, 2, 4, 4, 4, 8]), dict(pipeline=1, tensor=1, context=1, expert=1, replicate=1, shard=1)
    ranks = left
    while left > 1:
        degree[r.choice(["pipeline", "tensor", "context", "replicate", "shard", "shard"])] *= 2
        left //= 2
    if "mixture" in model and degree["shard"] > 1 and r.random() < 0.7:
        degree["expert"] = degree["shard"]
    layout = dict(zero_stage=r.randrange(4), blocks_per_unit=r.choice([1, 2]), sequence_parallel=r.random() < 0.7, async_tensor_parallel=r.random() < 0.2,
                  context_layout=r.choice(["contiguous", "zig_zag"]), context_method=r.choice(["gather", "ring", "ulysses"]), recompute_every=r.choice([0, 0, 1, 2]), stages_per_rank=0)
    layout["async_tensor_parallel"] &= layout["sequence_parallel"]
    if degree["context"] > 1 and model["n_head_kv"] % (degree["context"] * degree["tensor"]):
        layout["context_method"] = r.choice(["gather", "ring"])
    if degree["pipeline"] > 1:
        layout |= dict(pipeline_schedule=r.choice(["GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]),
                       microbatches=r.choice([2, 4]))
        if layout["pipeline_schedule"] in ("Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble"):
            layout["stages_per_rank"] = r.choice([0, 0, 3])
    layout["offload_every"] = 0 if layout["recompute_every"] else r.choice([0, 0, 1])
    accumulation = r.choice([1, 1, 2])
    if SAMPLES // degree["replicate"] // degree["shard"] // accumulation < layout.get("microbatches", 1):
        accumulation = 1
    if is_by_microbatch(model, masks):  # a sample in each, as on one rank
        parallel = degree["replicate"] * degree["shard"]
        if "microbatches" in layout:
            layout["microbatches"] = min(layout["microbatches"], SAMPLES // parallel)
        accumulation = SAMPLES // parallel // layout.get("microbatches", 1)
    return ranks, degree, layout, accumulation


def changes(degree, layout, accumulation):
    """What differs in the configurations of two layouts, by their keys."""
    parallel = degree["replicate"] * degree["shard"]
    return {"settings.step_profile.local_train_micro_batch_size": SAMPLES // parallel // accumulation or 1,
            "settings.step_profile.gradient_accumulation_steps": accumulation if accumulation * parallel <= SAMPLES else 1,
            **{f"device_mesh.config.{k}_parallel_degree": degree[k] for k in ("pipeline", "tensor", "context", "expert")},
            "device_mesh.config.data_parallel_replicate_degree": degree["replicate"], "device_mesh.config.data_parallel_shard_degree": degree["shard"],
            **{f"sharded_model.config.{k}": v for k, v in layout.items()}}


def write_tokenizer(path):
    part = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
           "ignore_merges": False, "vocab": {c: i for i, c in enumerate(LETTERS)}, "merges": []}
    path.write_text(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": part,
                                "post_processor": None, "decoder": part, "model": bpe}))


def collator(model, masks, tokenizer):
    """That tells documents apart, where the model asks for it: the first letter ends them. With masks some targets do not count."""
    made = {"component_key": "collate_fn", "variant_key": "gpt_2_llm_collator", "config": {"sample_key": "input_ids", "target_key": "target_ids"}}
    letters = {"component_key": "tokenizer", "variant_key": "pretrained_hf_tokenizer", "config": {"pretrained_model_name_or_path": str(tokenizer)}}
    if "document_key" in model:
        made = {"component_key": "collate_fn", "variant_key": "document_collator_wrapper", "config": {
            "wrapped_collate_fn": made, "sample_key": "input_ids", "document_key": model["document_key"], "eod_token": LETTERS[0], "tokenizer": letters}}
    if masks:
        made = {"component_key": "collate_fn", "variant_key": "mask_loss_collator_wrapper", "config": {
            "wrapped_collate_fn": made, "target_keys_to_mask": ["target_ids"], "loss_ignore_index": -100, "tokenizer": letters,
            "mask_tokens": {"b_include_to_loss_token": LETTERS[0], "e_include_to_loss_token": LETTERS[1]}}}
    return made


def wrapped(wrapper, model):
    """The component `model` within what was drawn."""
    return {"component_key": "model", "variant_key": wrapper[0], "config": {"model": model, **wrapper[1]}} if wrapper else model


def write_config(path, data, drawn, degree, layout, accumulation, saves):
    model, masks = drawn["model"], drawn["masks"]
    config = {
        "extends": "modalities/training",
        "settings": {"paths": {"train_dataset_path": str(data), "validation_dataset_path": str(data.with_name("validation.pbin"))}, "training_target": {"num_target_steps": STEPS},
                     "step_profile": {"sequence_length": SEQUENCE},
                     "intervals": {"training_log_interval_in_steps": 1, "evaluation_interval_in_steps": STEPS // 2, "checkpointing_interval_in_steps": saves}},
        "mfu_calculator": None, "collate_fn": collator(model, masks, path.parent / "tokenizer.json"),
        "loss_fn": {"config": {"normalization": "global_tokens" if masks else "microbatch_mean"}},
        "model_raw": {"component_key": "model", "variant_key": "decoder", "config": model},
        "sharded_model": {"component_key": "model", "variant_key": "parallelized", "config": {
            "model": wrapped(drawn["wrapper"], {"instance_key": "model_raw", "pass_type": "BY_REFERENCE"}), "device_mesh": {"instance_key": "device_mesh", "pass_type": "BY_REFERENCE"},
            "param_dtype": drawn["dtype"]}},
        "optimizer": drawn["optimizer"], "lr_scheduler": {"config": {"warmup_steps": 1, "max_lr": 1e-2, "final_lr": 1e-3}}}
    for key, value in changes(degree, layout, accumulation).items():
        at = config
        *names, last = key.split(".")
        for name in names:
            at = at.setdefault(name, {})
        at[last] = value
    path.write_text(json.dumps(config))


def call(program, work, *words):
    """The end of what it says, and its status; None: it hangs."""
    try:
        done = subprocess.run([program, *map(str, words)], cwd=work, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "", None
    return (done.stdout + done.stderr)[-1500:], done.returncode


def refusal(said):
    lines = [line for line in said.strip().splitlines() if line[:1] not in " -" and line != "To go on:"]
    return lines[-1][:300]


def is_refusal(said, status):
    return status in (1, 2) and "internal error" not in said and any(words in refusal(said) for words in REFUSALS)


def results(folder, with_evaluation):
    """Of each step: loss, norm of gradients, and the loss of an evaluation behind it, or 0."""
    path = folder / "evaluation_results.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    evaluated = {line["num_train_steps_done"]: next(iter(line["losses"].values())) for line in lines if line["dataloader_tag"] != "train"}
    return [(line["losses"]["train loss avg"], line["metrics"]["grad norm avg"], evaluated.get(line["num_train_steps_done"], 0.0) if with_evaluation else 0.0) for line in lines
            if line["dataloader_tag"] == "train"]


def difference(one, many, is_rounded):
    if len(one) != len(many):
        return f"{len(many)} results in the place of {len(one)}"
    for step, pairs in enumerate(zip(one, many)):
        near = (NEAR_ROUNDED[step] * LOSSES, NEAR_ROUNDED[step], NEAR_ROUNDED[-1] * LOSSES) if is_rounded else (NEAR, NEAR, NEAR)
        for a, b, most in zip(*pairs, near):
            if not abs(a - b) <= most * max(abs(a), 1e-3):
                return f"step {step + 1}: {pairs[1]} in the place of {pairs[0]}"
    return None


def write_generation(work, name, drawn, tensor, pipeline):
    checkpoint = next((work / "experiments/one/checkpoints").glob(f"*seen_steps_{STEPS}-*"))
    reference = {"pass_type": "BY_REFERENCE"}
    raw = {"component_key": "model", "variant_key": "decoder", "config": drawn["model"]}
    whole = wrapped(drawn["wrapper"], {"instance_key": "model_raw", **reference})
    mesh = {"component_key": "device_mesh", "variant_key": "default", "config": {
        "device_type": "cpu", "data_parallel_shard_degree": 1, "tensor_parallel_degree": tensor, "pipeline_parallel_degree": pipeline, "world_size": tensor * pipeline}}
    shared = {"component_key": "model", "variant_key": "parallelized", "config": {
        "model": whole, "device_mesh": {"instance_key": "device_mesh", **reference}, "param_dtype": "FP_32"}}
    trained = {"component_key": "model", "variant_key": "fsdp1_checkpointed", "config": {
        "checkpoint_loading": {"component_key": "checkpoint_loading", "variant_key": "torch", "config": {"device": "cpu", "precision": "FP32"}},
        "model": shared if tensor * pipeline > 1 else whole, "checkpoint_path": str(checkpoint)}}
    config = {"settings": {"referencing_keys": {"sample_key": "input_ids", "prediction_key": "logits"}, "model_path": str(checkpoint), "device": "cpu",
                           "sequence_length": SEQUENCE},
              "model_raw": raw, "device_mesh": mesh,
              "text_inference_component": {"component_key": "inference_component", "variant_key": "text", "config": {
                  "device": "cpu", "model": trained, "sequence_length": SEQUENCE, "eod_token": None,
                  "tokenizer": {"component_key": "tokenizer", "variant_key": "pretrained_hf_tokenizer", "config": {"pretrained_model_name_or_path": "tokenizer.json"}},
                  "prompt_template": "{x}", "temperature": 0}}}
    (work / f"{name}.yaml").write_text(json.dumps(config))


def logits_behind(program, work, ids):
    """Of one rank, for the token behind these."""
    data = struct.pack(f"<{len(ids)}q", *ids)
    header = json.dumps({"input_ids": {"dtype": "I64", "shape": [1, len(ids)], "data_offsets": [0, len(data)]}}).encode()
    (work / "batch.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    checkpoint = next((work / "experiments/one/checkpoints").glob(f"*seen_steps_{STEPS}-*"))
    said, status = call(program, work, "model", "run", "--config_file_path", "answers_one.yaml", "--weights_path", checkpoint, "--batch_path", "batch.safetensors",
                        "--output_path", "out.safetensors", "--file_existence_policy", "override")
    assert status == 0, said
    out = (work / "out.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", out[:8])[0]
    entry = json.loads(out[8:start])["logits"]
    numbers = struct.unpack(f"<{(entry['data_offsets'][1] - entry['data_offsets'][0]) // 4}f", out[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]])
    return numbers[-entry["shape"][-1] :]


def other_answers(program, work, r, drawn):
    """"same", or what is wrong with answers of ranks that share the model."""
    tensor, pipeline = r.choice([(2, 1), (1, 2), (2, 2), (4, 1)])
    prompts = ["".join(r.choices(LETTERS, k=r.choice([1, 3, 9]))) for _ in range(3)]
    (work / "prompts.jsonl").write_text("".join(json.dumps({"x": x}) + "\n" for x in prompts))
    answers = {}
    for name, t, p in (("answers_one", 1, 1), ("answers_many", tensor, pipeline)):
        write_generation(work, name, drawn, t, p)
        said, status = call(program, work, "generate_text", "--config_file_path", f"{name}.yaml", "--prompts_file_path", "prompts.jsonl", "--output_file_path",
                            f"{name}.jsonl", "--max_new_tokens", 12, "--batch_size", r.choice([1, 3]), "--ranks", t * p)
        assert "weights are random" not in said
        if is_refusal(said, status):
            return f"same; refused: tp {t}, pp {p}: {refusal(said)}"
        if status != 0:
            return f"{name} on {t * p} ranks ended with {status}: {said}"
        answers[name] = [json.loads(line)["answer"] for line in (work / f"{name}.jsonl").read_text().splitlines()]
    for prompt, a, b in zip(prompts, *answers.values()):
        same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        if a == b:
            continue
        logits = logits_behind(program, work, [LETTERS.index(c) for c in prompt + a[:same]])
        near = LOSSES if drawn["model"].get("linear") == "ternary" else NEAR
        if same == min(len(a), len(b)) or abs(logits[LETTERS.index(a[same])] - logits[LETTERS.index(b[same])]) > near:
            return f"tp {tensor}, pp {pipeline} answer {b!r} in the place of {a!r} to {prompt!r}"
    return f"same; answers of tp {tensor}, pp {pipeline}, too"


def write_tokens(path, ids):
    path.write_bytes(len(ids).to_bytes(8, "little") + (1).to_bytes(4, "little") + bytes(ids) + pickle.dumps([(0, len(ids))]))


def draw_tokens(r, masks):
    """The first letter ends documents. With masks it begins what counts in each row, and the second ends that."""
    ids = [r.randrange(2, 94) for _ in range(125 * SEQUENCE + 1)]
    for row in range(1, len(ids), SEQUENCE):
        places = sorted(r.sample(range(SEQUENCE), 2 if masks else 3))
        for i, place in enumerate(places):
            ids[row + place] = i if masks else 0
    return ids


def check(program, work, seed):
    """"same", and what of; "refused: why"; or what is wrong."""
    r = random.Random(seed)
    data = work / "train.pbin"
    model, one = draw_model(r), (1, dict(pipeline=1, tensor=1, context=1, expert=1, replicate=1, shard=1), {}, 1)
    write_tokenizer(work / "tokenizer.json")
    optimizer = {"config": {"lr": 1e-2, "weight_decay_groups_excluded": r.choice([[], ["embedding", "layernorm"]])}}
    if r.random() < 0.2:
        wrapped = {"wrapped_model": {"instance_key": "initialized_model", "pass_type": "BY_REFERENCE"}}
        muon = {"component_key": "optimizer", "variant_key": "muon", "config": {"lr": 1e-2, **wrapped}}
        adam = {"component_key": "optimizer", "variant_key": "adam_w", "config": {"lr": 1e-2, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "weight_decay_groups_excluded": [], **wrapped}}
        optimizer = {"component_key": "optimizer", "variant_key": "combined", "config": {**wrapped, "parts": [
            {"optimizer": muon, "parameters": ["@matrices"]}, {"optimizer": adam, "parameters": ["*"]}]}}
    drawn = dict(model=model, optimizer=optimizer, dtype=r.choice(["FP_32"] * 7 + ["BF_16"]), masks=r.random() < 0.2, wrapper=draw_wrapper(r, model) if r.random() < 0.25 else None)
    is_rounded = drawn["dtype"] == "BF_16" or model.get("linear") == "ternary"
    by_microbatch = is_by_microbatch(model, drawn["masks"])
    if by_microbatch:
        one = (*one[:3], SAMPLES)
    trainings = {"one": one, "many": draw_layout(r, model, drawn["masks"]), "other": draw_layout(r, model, drawn["masks"])}
    for name in ("one", "many"):
        write_config(work / f"{name}.yaml", data, drawn, *trainings[name][1:], STEPS // 2)
    ids = draw_tokens(r, drawn["masks"])
    write_tokens(data, ids)
    write_tokens(work / "validation.pbin", ids[: SAMPLES * SEQUENCE + 1])
    (work / "seed.json").write_text(json.dumps(dict(drawn, layouts=trainings)))
    got = {}
    for name in trainings:
        ranks = trainings[name][0]
        words = ["run", "--config_file_path", f"{name}.yaml", "--experiment_id", name, "--experiments_root_path", work / "experiments", "--ranks", ranks, "--threads", 1]
        if name == "other":
            checkpoint = next((work / "experiments/many/checkpoints").glob(f"*seen_steps_{STEPS // 2}-*"))
            words = ["resume", checkpoint, "--ranks", ranks, "--threads", 1]
            for key, value in changes(*trainings["other"][1:]).items():
                words += ["--set", f"{key}={json.dumps(value)}"]
        said, status = call(program, work, *words)
        if is_refusal(said, status):
            return f"refused: {name}: {refusal(said)}"
        if status != 0:
            return f"{name} on {ranks} ranks ended with {status}: {said}"
        got[name] = results(work / "experiments" / ("one" if name == "one" else "many"), not by_microbatch)
    wrong = difference(got["one"], got["many"], is_rounded)
    if wrong:
        return f"on {trainings['many'][0]} ranks, {wrong}"
    wrong = difference(got["one"], got["other"], is_rounded)
    if wrong:
        return f"gone on on {trainings['other'][0]} ranks, {wrong}"
    return other_answers(program, work, r, drawn)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("seeds", nargs="?", default="1-50")
    p.add_argument("--show", action="store_true", help="print what was drawn, too")
    a = p.parse_args()
    counts = {"same": 0, "refused": 0, "failed": 0}
    span = a.seeds.split("-")
    for seed in range(int(span[0]), int(span[-1]) + 1):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            said = check(a.program.resolve(), work, seed)
            kind = "same" if said.startswith("same") else "refused" if said.startswith("refused") else "failed"
            counts[kind] += 1
            print(f"{seed}: {said}", flush=True)
            if kind == "failed" or a.show:
                print((work / "seed.json").read_text(), flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    sys.exit(1 if counts["failed"] else 0)


main()
