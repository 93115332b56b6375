"""torch's operators for whole layers in inference, in terms of those that its exporter knows."""

import torch
from torch.nn import functional


def _multi_head_attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask=None,
    need_weights=True,
    average_attn_weights=True,
    mask_type=None,
):
    if mask is not None:
        return NotImplemented
    given = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3))
    q, k, v = (functional.linear(*each).unflatten(-1, (num_head, -1)).transpose(1, 2) for each in given)
    weights = (q * (embed_dim // num_head) ** -0.5 @ k.transpose(-2, -1)).softmax(-1)
    result = functional.linear((weights @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights:
        return result, result.new_empty(0)
    return result, weights.mean(1) if average_attn_weights else weights


def _transformer_encoder_layer(
    src,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask=None,
    mask_type=None,
):
    if mask is not None:
        return NotImplemented

    def attention(x):
        projections = qkv_weight, qkv_bias, proj_weight, proj_bias
        return _multi_head_attention(x, x, x, embed_dim, num_heads, *projections, need_weights=False)[0]

    def feed_forward(x):
        x = functional.linear(x, ffn_weight_1, ffn_bias_1)
        x = functional.gelu(x) if use_gelu else functional.relu(x)
        return functional.linear(x, ffn_weight_2, ffn_bias_2)

    x = src
    for layer, weight, bias in ((attention, norm_weight_1, norm_bias_1), (feed_forward, norm_weight_2, norm_bias_2)):
        if norm_first:
            x = x + layer(functional.layer_norm(x, (embed_dim,), weight, bias, eps))
        else:
            x = functional.layer_norm(x + layer(x), (embed_dim,), weight, bias, eps)
    return x


TABLE = {
    torch.ops.aten._native_multi_head_attention.default: _multi_head_attention,
    torch.ops.aten._transformer_encoder_layer_fwd.default: _transformer_encoder_layer,
}
