"""The zoo's models as the torch modules that their ONNX files were exported from.

`MODULES` maps a model's name to a function without arguments. Attributes have the names that the files' weights have,
and layers are made and called in the files' order: torch_weights.py relies on both. What the papers took from model
libraries comes from torchvision, transformers and timm here too.
"""

import torch
from torch import nn
from torch.nn import functional as F

MODULES = {}


def model(make):
    MODULES[make.__name__] = make
    return make


def vision(name):
    import torchvision

    return lambda: getattr(torchvision.models, name)(weights=None)


MODULES |= {name: vision(name) for name in ("resnet18", "resnet50", "resnext101_64x4d", "efficientnet_b0", "swin_b")}
MODULES["shufflenet_v2"] = vision("shufflenet_v2_x1_0")


class Field(nn.Module):
    """A library's model under the name `m`, of whose result one field is the output."""

    def __init__(self, inner, argument, field):
        super().__init__()
        self.m, self.argument, self.field = inner, argument, field

    def forward(self, x):
        return getattr(self.m(**{self.argument: x}), self.field)


def bert_base():
    from transformers import BertConfig, BertModel

    config = BertConfig(attn_implementation="sdpa")
    return Field(BertModel(config, add_pooling_layer=False), "input_ids", "last_hidden_state")


MODULES["bert_base_128"] = MODULES["bert_base_384"] = bert_base


@model
def segformer_b0():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    return Field(SegformerForSemanticSegmentation(SegformerConfig(num_labels=150)), "pixel_values", "logits")


def efficientvit_b1():
    import timm

    return timm.create_model("efficientvit_b1", pretrained=False)


MODULES["efficientvit_b1"] = MODULES["efficientvit_b1_2048"] = efficientvit_b1


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(256, 256, 10)

    def forward(self, x):
        return self.lstm(x)[0]


MODULES["lstm_10x100x256"] = Lstm


def perceptron(*widths, last=None):
    """Linear layers with a ReLU after each; `last` takes the place of the final one."""
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1], last) if last else nn.Sequential(*layers)


class Mmoe(nn.Module):
    """Experts shared by two tasks, each with a gate and a tower of its own."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(perceptron(100, 16, 16) for _ in range(8))
        self.gates = nn.ModuleList(nn.Linear(100, 8) for _ in range(2))
        self.towers = nn.ModuleList(perceptron(16, 8, 1)[:-1] for _ in range(2))

    def forward(self, x):
        experts = torch.stack([expert(x) for expert in self.experts], 1)
        outputs = []
        for gate, tower in zip(self.gates, self.towers):
            shares = torch.softmax(gate(x), -1).unsqueeze(-1)
            outputs.append(torch.sigmoid(tower((experts * shares).sum(1))))
        return tuple(outputs)


MODULES["mmoe"] = Mmoe


class MixerBlock(nn.Module):
    def __init__(self, tokens=196, channels=512, token_hidden=256, channel_hidden=2048):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.t1, self.t2 = nn.Linear(tokens, token_hidden), nn.Linear(token_hidden, tokens)
        self.c1, self.c2 = nn.Linear(channels, channel_hidden), nn.Linear(channel_hidden, channels)

    def forward(self, x):
        mixed = self.t2(F.gelu(self.t1(self.n1(x).transpose(1, 2))))
        x = x + mixed.transpose(1, 2)
        return x + self.c2(F.gelu(self.c1(self.n2(x))))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 512, 16, 16)
        self.blocks = nn.Sequential(*(MixerBlock() for _ in range(42)))
        self.norm, self.head = nn.LayerNorm(512), nn.Linear(512, 1000)

    def forward(self, x):
        tokens = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(tokens)).mean(1))


MODULES["mlp_mixer_42"] = Mixer


class InstanceUnit(nn.Module):
    """Candy's convolution: enlarging, reflecting padding, instance normalization and ReLU."""

    def __init__(self, inner, outer, kernel, stride=1, relu=True, scale=1):
        super().__init__()
        self.pad = nn.ReflectionPad2d(kernel // 2)
        self.conv = nn.Conv2d(inner, outer, kernel, stride)
        self.norm = nn.InstanceNorm2d(outer, affine=True)
        self.relu, self.scale = relu, scale

    def forward(self, x):
        if self.scale > 1:
            x = F.interpolate(x, scale_factor=self.scale, mode="nearest")
        x = self.norm(self.conv(self.pad(x)))
        return F.relu(x) if self.relu else x


class InstanceResidual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a = InstanceUnit(channels, channels, 3)
        self.b = InstanceUnit(channels, channels, 3, relu=False)

    def forward(self, x):
        return x + self.b(self.a(x))


@model
def candy():
    return nn.Sequential(
        *(InstanceUnit(3, 32, 9), InstanceUnit(32, 64, 3, 2), InstanceUnit(64, 128, 3, 2)),
        *(InstanceResidual(128) for _ in range(5)),
        *(InstanceUnit(128, 64, 3, scale=2), InstanceUnit(64, 32, 3, scale=2)),
        *(nn.ReflectionPad2d(4), nn.Conv2d(32, 3, 9)),
    )


def unit(inner, outer, kernel=1, stride=1, groups=1, activation=nn.SiLU):
    """A convolution without a bias, batch normalization and an activation."""
    convolution = nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outer), activation())


def enlarged(x):
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


class Separable(nn.Module):
    """A depthwise convolution and a pointwise one."""

    def __init__(self, inner, outer, stride=1):
        super().__init__()
        self.d, self.p = unit(inner, inner, 3, stride, inner), unit(inner, outer)

    def forward(self, x):
        return self.p(self.d(x))


class Bottleneck(nn.Module):
    def __init__(self, channels, shortcut):
        super().__init__()
        self.a, self.b, self.shortcut = unit(channels, channels), Separable(channels, channels), shortcut

    def forward(self, x):
        return x + self.b(self.a(x)) if self.shortcut else self.b(self.a(x))


class CrossStage(nn.Module):
    """YOLOX's cross-stage-partial block."""

    def __init__(self, inner, outer, count, shortcut=True):
        super().__init__()
        half = outer // 2
        self.a, self.b, self.c = unit(inner, half), unit(inner, half), unit(2 * half, outer)
        self.m = nn.Sequential(*(Bottleneck(half, shortcut) for _ in range(count)))

    def forward(self, x):
        return self.c(torch.cat((self.m(self.a(x)), self.b(x)), 1))


class PyramidPool(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a, self.b = unit(channels, channels // 2), unit(channels * 2, channels)

    def forward(self, x):
        x = self.a(x)
        return self.b(torch.cat([x, *(F.max_pool2d(x, kernel, 1, kernel // 2) for kernel in (5, 9, 13))], 1))


def yolox_head(channels, hidden=64, classes=80):
    branch = lambda: nn.Sequential(Separable(hidden, hidden), Separable(hidden, hidden))
    return nn.ModuleDict(
        dict(
            stem=unit(channels, hidden),
            cls=branch(),
            reg=branch(),
            cp=nn.Conv2d(hidden, classes, 1),
            rp=nn.Conv2d(hidden, 4, 1),
            op=nn.Conv2d(hidden, 1, 1),
        )
    )


class YoloxNano(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = unit(12, 16, 3)
        self.d2 = nn.Sequential(Separable(16, 32, 2), CrossStage(32, 32, 1))
        self.d3 = nn.Sequential(Separable(32, 64, 2), CrossStage(64, 64, 3))
        self.d4 = nn.Sequential(Separable(64, 128, 2), CrossStage(128, 128, 3))
        self.d5 = nn.Sequential(Separable(128, 256, 2), PyramidPool(256), CrossStage(256, 256, 1, False))
        self.l0, self.p4 = unit(256, 128), CrossStage(256, 128, 1, False)
        self.l1, self.p3 = unit(128, 64), CrossStage(128, 64, 1, False)
        self.b2, self.n3 = Separable(64, 64, 2), CrossStage(128, 128, 1, False)
        self.b1, self.n4 = Separable(128, 128, 2), CrossStage(256, 256, 1, False)
        self.heads = nn.ModuleList(yolox_head(channels) for channels in (64, 128, 256))

    def forward(self, x):
        rows = x[..., ::2, :], x[..., 1::2, :]
        x = torch.cat([part[..., start::2] for start in (0, 1) for part in rows], 1)
        x3 = self.d3(self.d2(self.stem(x)))
        x4 = self.d4(x3)
        f0 = self.l0(self.d5(x4))
        f1 = self.l1(self.p4(torch.cat((enlarged(f0), x4), 1)))
        o3 = self.p3(torch.cat((enlarged(f1), x3), 1))
        o4 = self.n3(torch.cat((self.b2(o3), f1), 1))
        o5 = self.n4(torch.cat((self.b1(o4), f0), 1))
        return torch.cat([self.detect(*pair) for pair in zip(self.heads, (o3, o4, o5))], 2).transpose(1, 2)

    @staticmethod
    def detect(head, features):
        features = head["stem"](features)
        boxes = head["reg"](features)
        classes = head["cp"](head["cls"](features)).sigmoid()
        return torch.cat((head["rp"](boxes), head["op"](boxes).sigmoid(), classes), 1).flatten(2)


MODULES["yolox_nano"] = YoloxNano


def enlarging(inner, outer, stride=2, padding=1):
    return nn.ConvTranspose2d(inner, outer, 4, stride, padding, bias=False), nn.BatchNorm2d(outer), nn.ReLU()


@model
def dcgan():
    first = enlarging(100, 512, 1, 0)
    middle = [layer for widths in ((512, 256), (256, 128), (128, 64)) for layer in enlarging(*widths)]
    return nn.Sequential(*first, *middle, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


class InfoGan(nn.Module):
    def __init__(self):
        super().__init__()
        widths = 228, 1024, 128 * 7 * 7
        dense = ((nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()) for a, b in zip(widths, widths[1:]))
        self.l1 = nn.Sequential(*(layer for layers in dense for layer in layers))
        self.up = nn.Sequential(
            *(nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU()),
            *(nn.ConvTranspose2d(64, 1, 4, 2, 1), nn.Sigmoid()),
        )

    def forward(self, z):
        return self.up(self.l1(z).view(-1, 128, 7, 7))


MODULES["infogan"] = InfoGan


@model
def fsrcnn():
    return nn.Sequential(
        *(nn.Conv2d(1, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12)),
        *(layer for _ in range(4) for layer in (nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12))),
        *(nn.Conv2d(12, 56, 1), nn.PReLU(56), nn.ConvTranspose2d(56, 1, 9, 3, 4, output_padding=2)),
    )


@model
def csrnet():
    widths = 512, 512, 512, 512, 256, 128, 64
    pairs = ((nn.Conv2d(a, b, 3, padding=2, dilation=2), nn.ReLU()) for a, b in zip(widths, widths[1:]))
    return nn.Sequential(*(layer for pair in pairs for layer in pair), nn.Conv2d(64, 1, 1))


class LargeKernel(nn.Module):
    """A 7 x 7 convolution made of columns and rows, in either order."""

    def __init__(self, inner, outer):
        super().__init__()

        def pair(first, second):
            pads = lambda kernel: tuple(extent // 2 for extent in kernel)
            return nn.Sequential(
                nn.Conv2d(inner, outer, first, padding=pads(first)), nn.Conv2d(outer, outer, second, padding=pads(second))
            )

        self.a, self.b = pair((7, 1), (1, 7)), pair((1, 7), (7, 1))

    def forward(self, x):
        return self.a(x) + self.b(x)


class Gcn(nn.Module):
    def __init__(self, classes=21):
        super().__init__()
        trunk = vision("resnet50")()
        self.stem = nn.Sequential(trunk.conv1, trunk.bn1, trunk.relu, trunk.maxpool)
        self.stages = nn.ModuleList([trunk.layer1, trunk.layer2, trunk.layer3, trunk.layer4])
        self.gcn = nn.ModuleList(LargeKernel(channels, classes) for channels in (256, 512, 1024, 2048))

    def forward(self, x):
        x, features = self.stem(x), []
        for stage, large in zip(self.stages, self.gcn):
            x = stage(x)
            features.append(large(x))
        y = features.pop()
        for feature in reversed(features):
            y = F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False) + feature
        return y


MODULES["gcn"] = Gcn


class MaskedEncoder(nn.Module):
    """Four layers of attention under a mask that says who may attend to whom. `attend` is how: by default torch's own
    attention, which knows a causal mask by name and takes others as a tensor."""

    def __init__(self, kind, layers=4, width=768, heads=12):
        super().__init__()
        self.kind, self.heads = kind, heads
        self.register_buffer("mask", attention_mask(kind))
        self.attend = self.by_name if kind == "causal" else self.by_tensor
        several = lambda make: nn.ModuleList(make() for _ in range(layers))
        self.qkv, self.out = several(lambda: nn.Linear(width, 3 * width)), several(lambda: nn.Linear(width, width))
        self.n1, self.n2 = several(lambda: nn.LayerNorm(width)), several(lambda: nn.LayerNorm(width))
        self.up, self.down = (several(lambda: nn.Linear(*pair)) for pair in ((width, 4 * width), (4 * width, width)))

    def by_name(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def by_tensor(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask)

    def by_blocks(self):
        """FlexAttention with a block mask of the same condition, as a function of q, k and v."""
        from torch.nn.attention import flex_attention

        mask, size = self.mask, self.mask.shape[0]
        seen = (lambda b, h, i, j: i >= j) if self.kind == "causal" else (lambda b, h, i, j: mask[i, j])
        blocks = flex_attention.create_block_mask(seen, None, None, size, size, device=mask.device)
        return lambda q, k, v: flex_attention.flex_attention(q, k, v, block_mask=blocks)

    def forward(self, x):
        batch, tokens, width = x.shape
        for qkv, out, n1, n2, up, down in zip(self.qkv, self.out, self.n1, self.n2, self.up, self.down):
            parts = qkv(n1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            y = self.attend(q, k, v)
            x = x + out(y.transpose(1, 2).reshape(batch, tokens, width))
            x = x + down(F.gelu(up(n2(x))))
        return x


def attention_mask(kind, size=1024, window=128, everywhere=32, block=64):
    row, column = torch.arange(size)[:, None], torch.arange(size)[None, :]
    band = (row - column).abs() <= window
    known = (row < everywhere) | (column < everywhere)
    if kind == "causal":
        return row >= column
    if kind == "sliding":
        return band & (row >= column)
    if kind == "longformer":
        return band | known
    drawn = torch.rand(size // block, size // block, generator=torch.Generator().manual_seed(0)) < 0.1
    return band | known | drawn.repeat_interleave(block, 0).repeat_interleave(block, 1)


for kind in ("causal", "sliding", "longformer", "bigbird"):
    MODULES[f"masked_encoder_{kind}_1024"] = lambda kind=kind: MaskedEncoder(kind)


def mish_unit(inner, outer, kernel=1, stride=1):
    return unit(inner, outer, kernel, stride, activation=nn.Mish)


def leaky_unit(inner, outer, kernel=1, stride=1):
    return unit(inner, outer, kernel, stride, activation=lambda: nn.LeakyReLU(0.1))


class DarkStage(nn.Module):
    """A stage of CSPDarknet53, which halves the image."""

    def __init__(self, inner, outer, count, first=False):
        super().__init__()
        half = outer // 2
        width = outer if first else half
        self.down = mish_unit(inner, outer, 3, 2)
        self.left, self.right = mish_unit(outer, width), mish_unit(outer, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(mish_unit(width, half), mish_unit(half, width, 3)) for _ in range(count)
        )
        self.post, self.join = mish_unit(width, width), mish_unit(2 * width, outer)

    def forward(self, x):
        x = self.down(x)
        y = self.right(x)
        for block in self.blocks:
            y = y + block(y)
        return self.join(torch.cat([self.post(y), self.left(x)], 1))


def chain(*widths):
    """Leaky units of these widths whose kernels are 1 and 3 in turn."""
    pairs = enumerate(zip(widths, widths[1:]))
    return nn.Sequential(*(leaky_unit(inner, outer, 3 if at % 2 else 1) for at, (inner, outer) in pairs))


class YoloV4(nn.Module):
    def __init__(self, outputs=255):
        super().__init__()
        self.stem = mish_unit(3, 32, 3)
        self.s1, self.s2, self.s3 = DarkStage(32, 64, 1, True), DarkStage(64, 128, 2), DarkStage(128, 256, 8)
        self.s4, self.s5 = DarkStage(256, 512, 8), DarkStage(512, 1024, 4)
        five = lambda inner, outer: chain(inner, outer, 2 * outer, outer, 2 * outer, outer)
        head = lambda width: nn.Sequential(leaky_unit(width, 2 * width, 3), nn.Conv2d(2 * width, outputs, 1))
        self.pre, self.post = chain(1024, 512, 1024, 512), chain(2048, 512, 1024, 512)
        self.pools = nn.ModuleList(nn.MaxPool2d(kernel, 1, kernel // 2) for kernel in (5, 9, 13))
        self.lat4, self.up4, self.n4 = leaky_unit(512, 256), leaky_unit(512, 256), five(512, 256)
        self.lat3, self.up3, self.n3 = leaky_unit(256, 128), leaky_unit(256, 128), five(256, 128)
        self.d4, self.p4 = leaky_unit(128, 256, 3, 2), five(512, 256)
        self.d5, self.p5 = leaky_unit(256, 512, 3, 2), five(1024, 512)
        self.h3, self.h4, self.h5 = head(128), head(256), head(512)

    def forward(self, x):
        c3 = self.s3(self.s2(self.s1(self.stem(x))))
        c4 = self.s4(c3)
        x = self.pre(self.s5(c4))
        n5 = self.post(torch.cat([*(pool(x) for pool in reversed(self.pools)), x], 1))
        n4 = self.n4(torch.cat([self.lat4(c4), enlarged(self.up4(n5))], 1))
        n3 = self.n3(torch.cat([self.lat3(c3), enlarged(self.up3(n4))], 1))
        p4 = self.p4(torch.cat([self.d4(n3), n4], 1))
        p5 = self.p5(torch.cat([self.d5(p4), n5], 1))
        return self.h3(n3), self.h4(p4), self.h5(p5)


MODULES["yolov4"] = YoloV4


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.w


class LlamaLayer(nn.Module):
    def __init__(self, width, hidden, heads, shared):
        super().__init__()
        self.heads, self.shared, self.head = heads, shared, width // heads
        linear = lambda inner, outer: nn.Linear(inner, outer, bias=False)
        self.n1, self.n2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v = (linear(width, count * self.head) for count in (heads, shared, shared))
        self.o = linear(width, width)
        self.gate, self.up, self.down = linear(width, hidden), linear(width, hidden), linear(hidden, width)

    def forward(self, x, cosine, sine, past_keys, past_values):
        batch, tokens, width = x.shape

        def parted(y, count):
            return y.view(batch, tokens, count, self.head).transpose(1, 2)

        def turned(y):
            a, b = y.chunk(2, -1)
            return y * cosine + torch.cat((-b, a), -1) * sine

        h = self.n1(x)
        q, k = turned(parted(self.q(h), self.heads)), turned(parted(self.k(h), self.shared))
        k, v = torch.cat((past_keys, k), 2), torch.cat((past_values, parted(self.v(h), self.shared)), 2)
        times = self.heads // self.shared
        y = F.scaled_dot_product_attention(q, k.repeat_interleave(times, 1), v.repeat_interleave(times, 1))
        x = x + self.o(y.transpose(1, 2).reshape(batch, tokens, width))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), k, v


class LlamaDecode(nn.Module):
    """One token after 512; the cache of keys and values comes in and goes out."""

    def __init__(self, layers=16, width=2048, hidden=8192, heads=32, shared=8, words=128256):
        super().__init__()
        self.emb = nn.Embedding(words, width)
        self.layers = nn.ModuleList(LlamaLayer(width, hidden, heads, shared) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, words, bias=False)
        head = width // heads
        self.register_buffer("freq", 1.0 / (500000 ** (torch.arange(0, head, 2).float() / head)))

    def _apply(self, convert, recurse=True):
        """Frequencies stay float32 when the module is converted: positions times rounded ones lose their digits."""
        exact = self.freq
        super()._apply(convert, recurse)
        self.freq = exact.to(self.freq.device)
        return self

    def forward(self, ids, position, *past):
        x = self.emb(ids)
        angle = position[:, None].float() * self.freq[None]
        angle = torch.cat((angle, angle), -1)
        cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        caches = []
        for number, layer in enumerate(self.layers):
            x, keys, values = layer(x, cosine, sine, *past[2 * number : 2 * number + 2])
            caches += [keys, values]
        return (self.head(self.norm(x)[:, -1]), *caches)


MODULES["llama_1b_decode"] = LlamaDecode


class Dlrm(nn.Module):
    def __init__(self, tables=26, rows=10000, width=64):
        super().__init__()
        self.t = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bot = perceptron(13, 512, 256, width)
        vectors = tables + 1
        self.register_buffer("tri", torch.tensor([a * vectors + b for a in range(vectors) for b in range(a)]))
        self.top = perceptron(vectors * (vectors - 1) // 2 + width, 512, 256, 1, last=nn.Sigmoid())

    def forward(self, x, ids):
        dense = self.bot(x)
        vectors = torch.stack([dense, *(table(ids[:, at]) for at, table in enumerate(self.t))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1).index_select(1, self.tri)
        return self.top(torch.cat((dense, products), 1))


MODULES["dlrm"] = Dlrm
