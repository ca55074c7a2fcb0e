"""Run a model exported by `seqloom export --to onnx`, with numpy and onnxruntime alone.

python run.py FOLDER < rows.jsonl

A row is an encoded input: token ids that end in `<end>`, or steps of numbers. The answer has the
output ids and tokens, the labels, or the numbers of the head.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

__all__ = ["OnnxModel"]

State = dict[str, np.ndarray]


class OnnxModel:
    """The graphs of a folder, and its model.json."""

    def __init__(self, folder: Path) -> None:
        self.facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        onnxruntime.set_default_logger_severity(3)
        self.graphs = {p.stem: onnxruntime.InferenceSession(p) for p in folder.glob("*.onnx")}
        first = folder / "start.npz"
        self.first = dict(np.load(first)) if first.exists() else {}

    def run(self, name: str, given: State) -> State:
        """Run a graph; return its outputs by name."""
        graph = self.graphs[name]
        wanted = {each.name for each in graph.get_inputs()}
        found = graph.run(None, {key: value for key, value in given.items() if key in wanted})
        return dict(zip((each.name for each in graph.get_outputs()), found, strict=True))

    def start(self, source: np.ndarray) -> State:
        """The decoder's initial state, with one row."""
        return self.first or self.run("encoder", {"source": source[None]})

    def step(self, tokens: list[int], state: State) -> tuple[np.ndarray, State]:
        """Feed one token per row; return log-probabilities (rows, symbols) and the next state."""
        found = self.run("decoder", {**state, "tokens": np.array(tokens)[:, None]})
        scores = found.pop("scores")
        own = {name.removeprefix("next_"): value for name, value in found.items()}
        return scores, {**state, **own}

    def score(self, source: np.ndarray, output: list[int]) -> list[float]:
        """The log-probability of each token of a given output."""
        state, values = self.start(source), []
        for token, following in zip([self.facts["start"], *output], output, strict=False):
            scores, state = self.step([token], state)
            values.append(float(scores[0, following]))
        return values

    def write(self, source: np.ndarray, *, beam: int = 1) -> list[int]:
        """The best output found by a beam search, by the sum of its log-probabilities."""
        limits, end = self.facts["limits"], self.facts["end"]
        longest = max(1, int(len(source) * limits["ratio"])) + limits["extra"]
        state, paths, sums = self.start(source), [[self.facts["start"]]], np.zeros(1)
        done: list[tuple[float, list[int]]] = [(-np.inf, [])]
        for _ in range(longest):
            scores, state = self.step([path[-1] for path in paths], state)
            scores[:, self.facts["forbidden"]] = -np.inf
            total = (sums[:, None] + scores).ravel()
            pool = np.concatenate([total, [value for value, _ in done]])
            order = np.argsort(-pool, kind="stable")[:beam]
            kept = order[order < len(total)]
            (rows, tokens), ended = np.divmod(kept, scores.shape[1]), kept % scores.shape[1] == end
            done = [done[number - len(total)] for number in order if number >= len(total)]
            done += [(float(total[n]), paths[n // scores.shape[1]][1:]) for n in kept[ended]]
            rows, tokens, sums = rows[~ended], tokens[~ended], total[kept[~ended]]
            paths = [[*paths[row], int(token)] for row, token in zip(rows, tokens, strict=True)]
            if not paths or (done and sums[0] <= max(done)[0]):
                return max(done)[1]
            state |= {name: state[name][rows] for name in self.facts["own"]}
        return max(done)[1] if done else paths[0][1:]

    def scores(self, source: np.ndarray) -> np.ndarray:
        """The head's output for each position or step."""
        return np.asarray(self.run("model", {"source": source[None]})["output"][0])

    def answer(self, row: list[Any]) -> dict[str, Any]:
        """The output for one row."""
        source = np.array(row, self.facts["dtype"])
        if "decoder" in self.graphs:
            ids = self.write(source)
            return {"ids": ids, "tokens": [self.facts["names"][token] for token in ids]}
        found = self.scores(source)
        names = self.facts["names"]
        labels = names and [names[number + 1] for number in found.argmax(-1)]
        return {"labels": labels} if labels else {"output": found.tolist()}


if __name__ == "__main__":
    model = OnnxModel(Path(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(model.answer(json.loads(line)), ensure_ascii=False))
