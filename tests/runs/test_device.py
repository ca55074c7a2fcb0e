"""Where a model learns: the processor here, a GPU only where there is one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from seqloom.config import TrainingConfig
from seqloom.errors import ConfigError
from seqloom.runs.processes.device import learning_device
from tests.runs.support import assert_same, options, trained

without_a_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


@without_a_gpu
def test_a_gpu_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """One sentence, before any data is read."""
    with pytest.raises(ConfigError, match="training.device = 'cuda': torch finds no GPU here"):
        trained(tmp_path / "run", options(device="cuda"))
    assert not (tmp_path / "run" / "config.toml").exists()


@without_a_gpu
def test_without_one_the_processor_it_is(tmp_path: Path) -> None:
    """`auto` and `cpu` are then the same, bit for bit."""
    for device in ("auto", "cpu"):
        trained(tmp_path / device, options(device=device, updates=4))
    assert_same(tmp_path / "auto", tmp_path / "cpu")


def test_each_rank_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of its number on its machine."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert learning_device(TrainingConfig()) == torch.device("cuda", 0)
    assert learning_device(TrainingConfig(device="cpu")) == torch.device("cpu")
    place = {"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "MASTER_ADDR": "localhost"}
    for name, value in {**place, "MASTER_PORT": "29500"}.items():
        monkeypatch.setenv(name, value)
    assert learning_device(TrainingConfig()) == torch.device("cuda", 1)


SHORT_WORK = """
import os, sys, time
if sys.argv[1] == "seqloom":
    import seqloom
import torch

torch.set_num_threads(2)
numbers = torch.ones(400_000)
numbers.exp()
began = time.process_time()
for _ in range(100):
    numbers.exp()
    time.sleep(0.01)
print(time.process_time() - began)
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="on one core no thread spins")
def test_threads_that_wait_for_work_sleep() -> None:
    """Spinning they take the processor from others; measured where two share short work."""

    unset = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}

    def spent(importing: str, **policy: str) -> float:
        ended = subprocess.run(
            [sys.executable, "-c", SHORT_WORK, importing],
            env={**unset, "OMP_NUM_THREADS": "2", **policy},
            capture_output=True,
            text=True,
            check=True,
        )
        return float(ended.stdout)

    assert 3 * spent("seqloom") < spent("torch", OMP_WAIT_POLICY="ACTIVE")
