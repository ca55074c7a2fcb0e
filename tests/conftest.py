"""What holds for every test: shapes are checked, and shared data is read only where it is offered.

The import hook comes first: it must be in place before the packages it names are imported.
"""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

from seqloom.engine.builder import build, find_compiler, stale

# One thread: tests are small, and threads that wait for one another make a busy machine crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts what it runs in the background with Ctrl-C ignored, and so would tests be that send
# it: Seqloom leaves ignored signals ignored.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

install_import_hook(
    [
        "seqloom.nn",
        "seqloom.model",
        "seqloom.search",
        "seqloom.training",
        "seqloom.torch_engine",
    ],
    "beartype.beartype",
)

# Durations depend on the machine, and no test does.
settings.register_profile("seqloom", deadline=None, print_blob=True)
settings.load_profile("seqloom")

SHARED_DATA = "SEQLOOM_SHARED_DATA"


def pytest_configure(config: pytest.Config) -> None:
    """The core is tested as its sources are: compile it where they are newer."""
    if hasattr(config, "workerinput") or not stale() or find_compiler() is None:
        return
    build()


def pytest_collection_finish() -> None:
    """What is loaded by now stays, so no search for garbage need visit it: each would take more
    than a second, and in a process that is forked it would copy all of that memory.
    """
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def one_core() -> Iterator[None]:
    """Models are tiny here, so none of them is worth a second worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: {0})
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs shared data where there is none, and say how to have it."""
    if os.environ.get(SHARED_DATA):
        return
    skip = pytest.mark.skip(reason=f"needs {SHARED_DATA}; scripts/check --full sets it")
    for item in items:
        if item.get_closest_marker("shared_data"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets that the project does not contain; only for marked tests."""
    folder = Path(os.environ.get(SHARED_DATA, ""))
    if not os.environ.get(SHARED_DATA) or not folder.is_dir():
        pytest.fail(f"{SHARED_DATA} must name a folder, and the test be marked shared_data")
    return folder
