"""step_peer.py tutorial|gpt2 f32|bf16 BATCH SEQUENCE THREADS - PyTorch's training step, timed on demand by bench/step.c.
step_peer.py gpt2|llama-1b|llama-8b bf16 BATCH SEQUENCE cuda - the same on a GPU, compiled: 20 steps and their rate as JSON.

First line out: the version, when PyTorch can be imported and the model is ready. Then, for each line in, one step and
its seconds out. The model is that of bench/step.c: the same sizes, norms, loss, clipping and AdamW; bf16 is autocast.
PyTorch is given its best: scaled_dot_product_attention, fused AdamW, gradients set to None, logits in one piece.
"""
import json
import sys
import time

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError:
    sys.exit(1)

NAME, PRECISION, BATCH, SEQUENCE = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5])
DEVICE = "cuda" if sys.argv[5] == "cuda" else "cpu"
VOCABULARY = 128256 if NAME.startswith("llama") else 50304
if DEVICE == "cpu":
    torch.set_num_threads(int(sys.argv[5]))
elif not torch.cuda.is_available():
    sys.exit("step_peer: this PyTorch has no GPU")
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden, llama):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.llama = heads, kv_heads, width // heads, llama
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(width, eps=1e-5), norm(width, eps=1e-5)
        self.q = nn.Linear(width, width, bias=not llama)
        self.k = nn.Linear(width, kv_heads * self.size, bias=not llama)
        self.v = nn.Linear(width, kv_heads * self.size, bias=not llama)
        self.proj = nn.Linear(width, width, bias=not llama)
        self.up = nn.Linear(width, hidden, bias=not llama)
        self.gate = nn.Linear(width, hidden, bias=False) if llama else None
        self.down = nn.Linear(hidden, width, bias=not llama)

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return (x * cos + torch.cat((-b, a), -1) * sin).type_as(x)

    def forward(self, x, cos, sin):
        b, t, width = x.shape
        n = self.norm1(x)
        q = self.q(n).view(b, t, self.heads, self.size).transpose(1, 2)
        k = self.k(n).view(b, t, self.kv_heads, self.size).transpose(1, 2)
        v = self.v(n).view(b, t, self.kv_heads, self.size).transpose(1, 2)
        if self.llama:
            q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, 1)
            v = v.repeat_interleave(self.heads // self.kv_heads, 1)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(o.transpose(1, 2).reshape(b, t, width))
        n = self.norm2(x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n) if self.llama else F.gelu(self.up(n)))


class Model(nn.Module):
    def __init__(self, layers, width, heads, kv_heads, hidden, llama):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.positions = None if llama else nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, hidden, llama) for _ in range(layers))
        self.norm = (nn.RMSNorm if llama else nn.LayerNorm)(width, eps=1e-5)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        if not llama:
            self.head.weight = self.embed.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)
        size = width // heads
        angle = torch.arange(SEQUENCE)[:, None] / 1e5 ** (torch.arange(0, size, 2) / size)[None]
        self.cos, self.sin = torch.cat((angle.cos(),) * 2, -1), torch.cat((angle.sin(),) * 2, -1)

    def forward(self, ids, targets):
        x = self.embed(ids)
        if self.positions is not None:
            x = x + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


SIZES = {"tutorial": (2, 128, 8, 4, 256, True), "gpt2": (12, 768, 12, 12, 3072, False),
         "llama-1b": (16, 2048, 32, 8, 8192, True), "llama-8b": (32, 4096, 32, 8, 14336, True)}
model = Model(*SIZES[NAME]).to(DEVICE)
model.cos, model.sin = model.cos.to(DEVICE), model.sin.to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), 1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
i = torch.arange(BATCH * SEQUENCE, device=DEVICE)
ids = (i * 7919 % VOCABULARY).view(BATCH, SEQUENCE)
targets = ((i + 1) * 7919 % VOCABULARY).view(BATCH, SEQUENCE)
run = torch.compile(model) if DEVICE == "cuda" else model


def step():
    start = time.perf_counter()
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=PRECISION == "bf16"):
        loss = run(ids, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


if DEVICE == "cuda":
    for _ in range(3):
        step()
    seconds = sum(step() for _ in range(20)) / 20
    print(json.dumps({"stage": "peer", "model": NAME, "batch": BATCH, "sequence": SEQUENCE, "torch": torch.__version__,
                      "cudnn": torch.backends.cudnn.version(), "settings": "compiled, bf16 autocast, flash attention, fused AdamW",
                      "tokens_per_s": BATCH * SEQUENCE / seconds}), flush=True)
    sys.exit()
print(torch.__version__, flush=True)
for line in sys.stdin:
    print(step(), flush=True)
