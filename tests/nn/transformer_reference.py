"""An independent Transformer: NumPy, float64, one sequence, a head and a position at a time."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from torch import nn

from seqloom.nn.transformer import BlockOptions

__all__ = ["Values", "Weights", "joint", "rotated", "run_block", "simple_attention", "weights_of"]

Values = npt.NDArray[np.float64]
Weights = dict[str, Values]


def weights_of(module: nn.Module) -> Weights:
    """Every parameter by its name."""
    return {name: value.detach().numpy() for name, value in module.named_parameters()}


def run_block(
    options: BlockOptions, weights: Weights, x: Values, *, states: Values | None, causal: bool
) -> Values:
    """A block over one sequence without padding; `states` are what it looks at besides."""
    steps = [_mixing(options, within(weights, "attention."), causal=causal)]
    if states is not None:
        steps.append(lambda z: cross_attention(options, within(weights, "cross."), z, states))
    steps.append(lambda z: network(options, within(weights, "network."), z))
    for number, step in enumerate(steps):
        scale = within(weights, f"norms.{number}.")
        first = options.norm_first
        x = x + step(layer_norm(scale, x)) if first else layer_norm(scale, x + step(x))
    return x


def _mixing(options: BlockOptions, weights: Weights, *, causal: bool) -> Callable[[Values], Values]:
    if options.mixing == "simple":
        return lambda x: simple_attention(x, causal=causal)
    if options.mixing == "ssru":
        return lambda x: ssru(within(weights, "unit."), x)
    return lambda x: self_attention(options, weights, x, causal=causal)


def within(weights: Weights, prefix: str) -> Weights:
    return {name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)}


def affine(weights: Weights, name: str, x: Values) -> Values:
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", np.zeros(1))


def softmax(scores: Values) -> Values:
    powers = np.exp(scores - scores.max())
    result: Values = powers / powers.sum()
    return result


def weighed(query: Values, keys: Values, values: Values) -> Values:
    """Σ softmax(q·k)_i v_i over all given."""
    return softmax(np.array([query @ key for key in keys])) @ values


def simple_attention(x: Values, *, causal: bool) -> Values:
    """S5.1: queries, keys and values are the input itself."""
    ends = [t + 1 if causal else len(x) for t in range(len(x))]
    return np.stack([weighed(x[t], x[:end], x[:end]) for t, end in enumerate(ends)])


def self_attention(options: BlockOptions, weights: Weights, x: Values, *, causal: bool) -> Values:
    """S5.1: Σ_h W_c^h u^h, with m and m_v free of the width."""
    heads, m, m_v = options.sizes
    parts = affine(weights, "project", x)
    queries, keys, values = np.split(parts, [heads * m, 2 * heads * m], axis=1)
    contexts = np.zeros((len(x), heads * m_v))
    for head in range(heads):
        q, k = (part[:, head * m : (head + 1) * m] for part in (queries, keys))
        if options.rotary:
            q, k = (np.stack([rotated(row, t) for t, row in enumerate(part)]) for part in (q, k))
        out = slice(head * m_v, (head + 1) * m_v)
        for t in range(len(x)):
            end = t + 1 if causal else len(x)
            contexts[t, out] = weighed(q[t] / math.sqrt(m), k[:end], values[:end, out])
    return affine(weights, "combine", contexts)


def cross_attention(options: BlockOptions, weights: Weights, x: Values, states: Values) -> Values:
    heads, m, m_v = options.sizes
    queries = affine(weights, "query", x)
    keys, values = np.split(affine(weights, "project", states), [heads * m], axis=1)
    contexts = np.zeros((len(x), heads * m_v))
    for head in range(heads):
        part, out = slice(head * m, (head + 1) * m), slice(head * m_v, (head + 1) * m_v)
        for t in range(len(x)):
            contexts[t, out] = weighed(
                queries[t, part] / math.sqrt(m), keys[:, part], values[:, out]
            )
    return affine(weights, "combine", contexts)


def ssru(weights: Weights, x: Values) -> Values:
    """f = σ(W_f x + b_f), c = f ⊙ c + (1 − f) ⊙ W x, h = relu(c)."""
    forget_weight, weight = np.split(weights["project.weight"], 2)
    cell, outputs = np.zeros(len(weight)), []
    for row in x:
        forget = 1 / (1 + np.exp(-(forget_weight @ row + weights["bias"])))
        cell = forget * cell + (1 - forget) * (weight @ row)
        outputs.append(np.maximum(cell, 0))
    return np.stack(outputs)


def network(options: BlockOptions, weights: Weights, x: Values) -> Values:
    inner = affine(weights, "0", x)
    if options.inner_kind == "relu":
        inner = np.maximum(inner, 0)
    elif options.inner_kind == "gelu":
        inner = gelu(inner)
    else:
        inner = gelu(inner[:, : options.inner]) * inner[:, options.inner :]
    return affine(weights, "3", inner)


def gelu(x: Values) -> Values:
    """x Φ(x)."""
    result: Values = x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
    return result


def layer_norm(weights: Weights, x: Values) -> Values:
    """S5.4: γ ⊙ (z − μ)/√(σ² + ε) + β, with the variance over p, not p − 1."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred**2).sum(axis=1, keepdims=True) / x.shape[1]
    result: Values = weights["weight"] * centred / np.sqrt(variance + 1e-5) + weights["bias"]
    return result


def rotated(vector: Values, position: int) -> Values:
    """Pairs of values as complex numbers, each turned by (position + 1)/M^{2i/m}."""
    size = len(vector)
    angles = (position + 1) / 10_000 ** (np.arange(0, size, 2) / size)
    turned = (vector[0::2] + 1j * vector[1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=1).reshape(-1)


def joint(weights: Weights, x: Values, position: int) -> Values:
    """S5.3: W_1 S(W_2 x + W_3 e_t + b), t from 1, the last position for later ones."""
    one_hot = np.zeros(len(weights["position"]))
    one_hot[min(position, len(one_hot) - 1)] = 1
    inner = weights["vector.weight"] @ x + weights["position"].T @ one_hot + weights["vector.bias"]
    result: Values = weights["mix.weight"] @ np.maximum(inner, 0)
    return result
