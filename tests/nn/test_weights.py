"""How a model is built when its weights are about to be read."""

import subprocess
import sys

import torch

from seqloom.config import Config
from seqloom.fields import Symbols
from seqloom.model import build
from seqloom.nn.modules import meta_device

SCRIPT = """
import sys
from seqloom.config import Config
from seqloom.fields import Symbols
from seqloom.model import build
from seqloom.nn.modules import materialize, meta_device
with meta_device():
    model = build(Config().model, source=Symbols(9), target=Symbols(9))
materialize(model)
print("torch._dynamo" in sys.modules, "sympy" in sys.modules)
"""


def test_names_and_shapes_are_those_of_a_model_with_weights() -> None:
    config = Config()
    with meta_device():
        bare = build(config.model, source=Symbols(9), target=Symbols(9))
    whole = build(config.model, source=Symbols(9), target=Symbols(9))
    shapes = {name: each.shape for name, each in whole.named_parameters()}
    assert {name: each.shape for name, each in bare.named_parameters()} == shapes
    assert all(each.device == torch.device("meta") for each in bare.parameters())


def test_torch_does_not_load_its_compiler() -> None:
    """It takes longer than all the rest of loading a run, and nothing is compiled."""
    command = [sys.executable, "-c", SCRIPT]
    assert (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        == "False False\n"
    )
