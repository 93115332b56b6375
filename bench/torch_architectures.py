"""Architectures of torchvision, timm and transformers, by name: modules with the weights that their own initializers make, and
inputs of the size that they are made for."""

import inspect

import torch

SEQUENCE, VIDEO, SAMPLES = 24, 8, 8000
# What configurations of transformers get where they have it: a few layers of each are as telling as all of them.
SMALL = {
    "hidden_size": 64,
    "d_model": 64,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "ffn_dim": 128,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "num_local_experts": 4,
    "num_experts": 4,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "vocab_size": 1000,
    "embedding_size": 64,
}
PIXELS = 224  # Where a model does not say.


class Tensors(torch.nn.Module):
    """The tensors of what a module gives, in their order, for inputs by position."""

    def __init__(self, module, names=None):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *arguments):
        found = self.module(*arguments) if self.names is None else self.module(**dict(zip(self.names, arguments)))
        leaves = torch.utils._pytree.tree_leaves(dict(found) if hasattr(found, "keys") else found)
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


def made(family, name, overrides, batch=2):
    """(module in inference, inputs, of each input the axes that may have other sizes)."""
    torch.manual_seed(1)
    module, inputs, open_axes = _MAKERS[family](name, overrides, batch)
    return module.eval().requires_grad_(False), inputs, open_axes


def _torchvision(name, _, batch):
    import torchvision

    takes = inspect.signature(torchvision.models.get_model_builder(name)).parameters
    without = {each: None for each in ("weights", "weights_backbone") if each in takes}
    module = torchvision.models.get_model(name, **without)
    kind = type(module).__module__
    if ".optical_flow" in kind:
        return Tensors(module), tuple(torch.randn(batch, 3, 128, 160) for _ in range(2)), ({0},) * 2
    if ".detection" in kind:  # Which takes a list of images, each of a size of its own.
        return Tensors(_Listed(module)), (torch.rand(batch, 3, 320, 320),), (set(),)
    frames = (VIDEO * 2,) if ".video" in kind else ()
    size = 299 if name == "inception_v3" else 112 if frames else PIXELS
    return Tensors(module), (torch.randn(batch, 3, *frames, size, size),), ({0},)


class _Listed(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, images):
        return self.module(list(images))


def _timm(name, _, batch):
    import timm

    module = timm.create_model(name, pretrained=False)
    return Tensors(module), (torch.randn(batch, *module.pretrained_cfg["input_size"]),), ({0},)


def _transformers(name, overrides, batch):
    import transformers

    config = _configuration(transformers.AutoConfig.for_model(name), overrides)
    module = transformers.AutoModel.from_config(config)
    inputs = _inputs(module, config, batch)
    axes = {"input_ids": {0, 1}, "decoder_input_ids": {0, 1}}
    return Tensors(module, tuple(inputs)), tuple(inputs.values()), tuple(axes.get(name, {0}) for name in inputs)


def _configuration(usual, overrides):
    """One of the same class with small sizes."""
    sizes = {key: size for key, size in SMALL.items() if isinstance(getattr(usual, key, None), int)}
    sizes = {key: size for key, size in (sizes | overrides).items() if size is not None}
    if "vocab_size" in sizes:
        tokens = (key for key in usual.to_dict() if key.endswith("_token_id"))
        beyond = {key: 1 for key in tokens if isinstance(getattr(usual, key), int) and getattr(usual, key) >= 1000}
        sizes |= beyond
    config = type(usual)(**sizes)
    config.use_cache = False
    if hasattr(config, "_experts_implementation"):
        config._experts_implementation = "batched_mm"  # The one of those that transformers has which can be exported.
    return config


def _inputs(module, config, batch):
    """By name, what a model of transformers takes."""
    name, pixels = module.main_input_name, getattr(config, "image_size", PIXELS)
    tokens = torch.randint(2, 900, (batch, SEQUENCE))
    if name == "pixel_values":
        size = pixels if isinstance(pixels, (list, tuple)) else (pixels, pixels)
        return {name: torch.randn(batch, getattr(config, "num_channels", 3), *size)}
    if name == "input_values" and hasattr(config, "max_length"):
        return {name: torch.randn(batch, config.max_length, config.num_mel_bins)}
    if name == "input_values":
        return {name: torch.randn(batch, SAMPLES)}
    if name == "input_features":
        features = torch.randn(batch, config.num_mel_bins, 2 * config.max_source_positions)
        return {name: features, "decoder_input_ids": tokens}
    return {"input_ids": tokens} | ({"decoder_input_ids": tokens + 1} if config.is_encoder_decoder else {})


_MAKERS = {"torchvision": _torchvision, "timm": _timm, "transformers": _transformers}
