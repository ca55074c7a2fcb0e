"""Numbers of the texts, and those worked out from them by hand, by lesson (S10).

A number is what the lesson must find: where a text's own does not hold, the right one.
"""

from typing import Any

import pytest

__all__ = ["NUMBERS"]

NUMBERS: dict[str, dict[str, Any]] = {
    "abstraction": {"outputs of RNN* for 4 tokens": 4, "index of RNN(x_1, x_2, x_3)": 3},
    "word-order": {"change of the mean (CBOW)": 0, "does the RNN's output change": "yes"},
    "elman-step": {"W^x, d_in × d_s": (2, 3), "W^s, d_s × d_s": (3, 3)},
    "unit-sizes": {"elman": 748, "lstm": 2_488, "gru": 1_908},
    "word-numbers": {
        "numbers of the words": (8, 5, 2, 6, 1, 3),
        "numbers of the targets": (5, 2, 6, 1, 3),
        "predicted correctly, of 5": 4,
        "target of the miss": "deep",
        "prediction of the miss": "engineering",
        "parameters of the network": 748,
    },
    "bidirectional": {"size of a joint output, 2h": 6, "h_r of both against h_r alone": 0},
    "stacked": {"top output against layer after layer": 0, "states, one for each layer": 3},
    "cosines": {
        "king and queen": pytest.approx(0.729, abs=5e-4),
        "king and mean, in size": pytest.approx(0.04, abs=5e-4),
        "queen and mean": pytest.approx(0.156, abs=5e-4),
    },
    "cross-entropy": {"mean of −log p": 1.10429218, "product of the five": 0.004},
    "backpropagation": {
        "δ by hand": (7 / 12, 1 / 2, 1 / 3),
        "dC/dw by hand": 2 / 3,
        "dC/dw by autograd": 2 / 3,
    },
    "closed-form-gradient": {"sum as printed": 3.0, "finite difference": 3.0},
    "cost-at-every-step": {"by hand": 61 / 12, "by autograd": 61 / 12},
    "state-jacobian": {"with x_t": pytest.approx(0.131, abs=5e-4)},
    "eigenvalues": {
        "50 steps back, .9": 0.9**50,
        "50 steps back, 1.1": 1.1**50,
        "first step of 300, .9": 0.9**299,
    },
    "truncation": {"error of the whole window": 0, "cosine of clipped and full": 1},
    "descent-sign": {"loss before": 0.5, "after W − η ∂C/∂W": 0.405},
    "single-word-gradient": {"mean over positions against full / length": 0},
    "padding": {
        "symbols and <empty> of the input": (5, 4),
        "symbols and <empty> of the output": (7, 2),
    },
    "reversal": {
        "reversed": "chapter another read to going am I",
        "smallest distance, reversed": 1,
        "mean distance falls": "no",
    },
    "hard-gate": {"s'": (8, 11, 3), "second cell with an ordinary 1 + g": 29},
    "lstm-step": {"square matrices W_hh": 4, "is |c_t − f ⊙ c_(t−1)| at most 1": "yes"},
    "gru-limits": {"square matrices W_hh": 3, "R = 1, Z = 0 against a tanh unit": 0},
    "gated-gradients": {
        "does Elman's vanish (below 1e-6)": "yes",
        "does the GRU's stay (above .1)": "yes",
    },
    "tensor-shapes": {
        "encoder's output, time first": (7, 4, 16),
        "decoder's output": (4, 7, 10),
        "hidden state": (2, 4, 16),
        "memory cell": (2, 4, 16),
    },
    "output-feedback": {"change in (a), state only": 0, "does (b), with feedback, change": "yes"},
    "sequence-probability": {},
    "unit-chains": {"units of encoder and decoder": (5, 7), "units: I ate an apple": (4, 5)},
    "read-outs": {"outputs with a loss of their own, acceptor": 1, "the same, transducer": 4},
    "output-fed": {"step by step against all inputs at once": 0},
    "one-hot-lookup": {"entries of a vector, d_V": 40_000, "e_i P against row i of P": 0},
    "decoder-nets": {
        "(b) Figure 7.9 (a): first state": (6, 0, 0, 0),
        "(d) Figure 7.9 (b): every input and output": (6, 7, 7, 0),
    },
    "decoder-loops": {},
    "decoder-start": {"effect with a zero state": 0, "weights that the two nets share": 0},
    "training-pass": {"words in and out": (5, 6), "steps whose cost reaches the encoder": 6},
    "class-net": {"W^h, m × (m + k)": (20, 42), "step by step against the unfolded net": 0},
    "attention-net": {"weights, T_out × T_in": 35, "decoder steps": 7},
    "transformer-net": {"blocks that z* enters": 6},
    "carried-states": {"is carrying cheaper": "yes"},
    "word-vectors": {"mean value, mean person: cosine, one vector": 1, "do the two differ": "yes"},
    "computation-graph": {"uses of each parameter": (3, 3, 3)},
    "distant-word": {"position of the decisive word": 0},
    "freezing": {"tensors of a frozen encoder that changed": 0},
    "three-situations": {"is more kept at noise than at a signal": "yes"},
    "alignments": {"written": "HFABDCGI"},
    "sentiment": {"units": 7, "classes": 3},
    "tagging": {"right, two-way": 18},
    "forecasting": {"is it better than repeating": "yes"},
    "language-model": {"after years": "ago", "after L": "N"},
    "text-pairs": {
        "We enjoyed writing this book": "Nous avons aimé écrire ce livre",
        "Hello world .": "Bonjour le monde .",
    },
    "captions": {"words of a caption, until <end>": 6},
    "greedy-failure": {
        "nose after “he”": 0.5,
        "knows after “he”": 0.4,
        "greedy finds": 0.10,
        "a beam finds": 0.32,
        "the most likely of all": 0.32,
    },
    "beam-steps": {
        "probability of the best path": 0.32,
        "the same by the library's search": 0.32,
    },
    "threshold-pruning": {"kept with ≥": 3, "kept with >": 2, "kept with > for K = 1": 0},
    "exhaustive-search": {
        "is a beam of 1 greedy": "yes",
        "is a wide beam exhaustive": "yes",
    },
    "gumbel": {
        "share of nose": pytest.approx(0.5, abs=0.005),
        "share of knows": pytest.approx(0.4, abs=0.005),
    },
    "attention-step": {"sum of the weights": 1, "softmax of 1000 and 999": 0.7310586},
    "attention-matrix": {"rows and columns": (7, 5), "sum of each row": (1,) * 7},
    "score-functions": {"concatenation against additive": 0, "size of W = [W_a W_b]": (5, 7)},
    "causal-weights": {"sums of causal weights": (1, 1, 1, 1), "u_1 against v_1": 0},
    "attention-heads": {"sum over heads against the module": 0},
    "word-positions": {
        "simple: effect of the order": 0,
        "with positions, does it matter": "yes",
    },
    "mask-scores": {"weights, scores masked": (1, 0)},
    "one-hot-positions": {
        "at t = 1": (0.2, 1.3, 1, 0, 0, 0),
        "at t = 4": (0.2, 1.3, 0, 0, 0, 1),
        "size p + T": 6,
    },
    "sinusoids": {
        "‖r_51 − r_50‖": 4.523235,
        "‖r_t‖²": 384,
        "last that differs by over .3": 98,
        "last that differs by over .1": 180,
        "positions and values in the figure": (60, 200),
    },
    "layer-norm": {"against (z − μ)/√(σ² + ε)": 0, "norms in a decoder's block": 3},
    "transformer-sizes": {
        "encoder block": 3_150_336,
        "decoder block": 4_199_936,
        "output layer": 18_981_000,
        "whole": 63_082_632,
    },
    "parallel-steps": {"parallel against sequential": 0},
    "fill-in": {
        "two-way, by sentence": ("happy", "not", "very"),
        "one-way, difference of the three": 0,
    },
    "attention-by-length": {
        "does the fixed code fall with length": "yes",
        "is attention better on the longest": "yes",
    },
    "teacher-forcing": {"does it learn faster than without": "yes"},
    "reversal-training": {"does reversing help": "yes"},
    "paradigms": {"units": (3, 3, 5, 3)},
    "class-to-sequence": {
        "words": 22,
        "parameters, m² + 66 m": 1_720,
        "written after 11": (15, 16, 6, 22),
        "written after 7": (3, 8, 14, 20, 22),
        "written after 13": (12, 19, 7, 3, 8, 22),
    },
    "sentence-codes": {"sentences": 24, "the same by the mean of one-hot words": 0},
    "unknown-names": {
        "UNK in each of the two": (1, 1),
        "names that attention brings back": ("Hackenberg", "Rosenker"),
    },
    "long-sentences": {
        "does the fixed code lose the tail": "yes",
        "does attention keep it": "yes",
    },
    "help-desk": {
        "turns of machine and human": (4, 3),
        "replies as in the text, word by word": 3,
        "words of each": (17, 11, 9),
    },
}
