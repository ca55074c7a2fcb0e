"""Builds the engine's compiled core when the project is installed, where that is possible.

The system's compiler is used if there is one, else the one of the `ziglang` package, which is then
a build requirement. Where neither works, Seqloom is installed without the core and runs on torch.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ZIG = "ziglang>=0.13"


def _builder(root: str) -> ModuleType:
    """The project's own builder, which is not installed yet."""
    path = Path(root, "src", "seqloom", "engine", "builder.py")
    spec = spec_from_file_location("seqloom_engine_builder", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: cannot be read")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class CoreBuildHook(BuildHookInterface[Any]):
    """Compiles the core into the package, for wheels and for editable installs."""

    def dependencies(self) -> list[str]:
        """A compiler from the package index, where the system has none."""
        if self.target_name != "wheel" or _builder(self.root).find_compiler() is not None:
            return []
        return [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        builder = _builder(self.root)
        try:
            if builder.stale():
                builder.build()
        except (builder.BuildError, OSError) as error:
            print(f"seqloom is installed without its compiled engine: {error}", file=sys.stderr)
            return
        build_data["artifacts"].append(f"/src/seqloom/engine/{builder.LIBRARY.name}")
        build_data["pure_python"] = False
        build_data["tag"] = builder.wheel_tag()
