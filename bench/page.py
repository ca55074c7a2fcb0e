"""Writes docs/results.md and the tables of docs/search.md from bench/results/*.json.

Nothing there is typed by hand.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"

BEGIN = "<!-- tables: bench/page.py writes what stands between these two lines -->"
END = "<!-- end of tables -->"
INTRODUCTION = """# Results

Every figure here was measured by the command beside it and written by `python bench/page.py`.
Intervals are 95 % bootstrap intervals over the test rows. Where a figure misses what was aimed at,
the row says so. Labels, tags, dialogs, forecasts and other uses are on [their page](tasks.md).
"""


def score(result: dict[str, Any], name: str) -> str:
    """A metric with its interval."""
    (found,) = [each for each in result["scores"] if each["name"] == name]
    return f"{found['value']:.1f} ({found['low']:.1f}–{found['high']:.1f})"


def value(result: dict[str, Any], name: str) -> float:
    """A metric's value."""
    return float(next(each["value"] for each in result["scores"] if each["name"] == name))


def verdict(reached: bool) -> str:
    """Whether an aim was reached."""
    return "reached" if reached else "missed"


def start_row(result: dict[str, Any]) -> list[str]:
    imported, helped = result["import"], result["help"]
    return [
        f"| `import seqloom` | {imported * 1e3:.0f} ms | below 300 | {verdict(imported < 0.3)} |",
        f"| `seqloom --help` | {helped * 1e3:.0f} ms | below 500 | {verdict(helped < 0.5)} |",
    ]


def timed_row(result: dict[str, Any], what: str, metric: str, aim: tuple[float, float]) -> str:
    """A training with its time and score against (minutes, score)."""
    minutes, reached = result["seconds"] / 60, value(result, metric)
    good = minutes <= aim[0] and reached >= aim[1]
    return (
        f"| {what}, {result['rows']:,} rows | {minutes:.1f} minutes, {metric} "
        f"{score(result, metric)} | "
        f"at most {aim[0]:g} minutes, at least {aim[1]:g} | {verdict(good)} |"
    )


ROWS = {
    "french": ("`seqloom demo`: French to English", "BLEU", (4, 58)),
    "dates": (
        "`seqloom demo dates`: dates never seen in that style",
        "exact match",
        (2, 98),
    ),
    "transformer": (
        "Multi30k German to English, `--model transformer`, beam 5, lower-cased",
        "BLEU",
        (60, 40),
    ),
    "lstm": (
        "Multi30k German to English, `--model lstm`, beam 5, lower-cased",
        "BLEU",
        (60, 35),
    ),
}


def decode_rows(result: dict[str, Any]) -> list[str]:
    """Each setting for which there is an aim, as a ratio to CTranslate2."""
    return [
        f"| decoding speed, {name}, as a multiple of CTranslate2's in float32 | "
        f"{each['ratio']:.2f} | at least {each['aim']:g} | "
        f"{verdict(each['ratio'] >= each['aim'])} |"
        for name, each in result["settings"].items()
        if each["aim"]
    ]


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """One row a figure."""
    lines = ["", "| what | measured | aim | |", "| --- | --- | --- | --- |"]
    if "start" in results:
        lines += start_row(results["start"])
    lines += [timed_row(results[name], *ROWS[name]) for name in ROWS if name in results]
    if "decode" in results:
        lines += decode_rows(results["decode"])
    return lines


def decode_details(result: dict[str, Any]) -> list[str]:
    """Every setting: sentences a second, and processor time of a sentence."""
    around = result["surroundings"]
    lines = [
        "\n## decode\n",
        f"`python bench/decode.py`, {around['date']}, {around['cores']} cores of "
        f"{around['processor']}, Python {around['python']}, torch {around['torch']}, CTranslate2 "
        f"{around['ctranslate2']}, load {result['load']:.1f}: medians of {result['rounds']} rounds "
        f"over {result['sentences']:,} sentences, in brackets the processor time of one\n",
        "| setting | Seqloom | CTranslate2 | ratio | same outputs |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, each in result["settings"].items():
        others = [
            f"{speed(found)}{system.removeprefix('ctranslate2')}"
            for system, found in each.items()
            if system.startswith("ctranslate2")
        ]
        lines.append(
            f"| {name} | {speed(each['seqloom'])} | {'; '.join(others)} | {each['ratio']:.2f} | "
            f"{each['same']:.1%} |"
        )
    return lines


def speed(found: dict[str, float]) -> str:
    """Sentences a second and processor time."""
    return f"{found['sentences_per_second']:.1f}/s ({found['processor_ms']:.1f} ms)"


def search_tables(result: dict[str, Any]) -> list[str]:
    """Each method with its quality and speed, and the search errors of beams."""
    around, errors = result["surroundings"], result["search_errors"]
    lines = [
        f"{result['sentences']:,} sentences of Multi30k test_2016_flickr, German to English; "
        f"`python bench/search.py`, {around['date']}, {around['cores']} cores of "
        f"{around['processor']}, torch {around['torch']}, load {result['load']:.1f}. Speed is in "
        "sentences a second, in brackets the processor time of one.",
        "",
        "| method | BLEU | chrF | mean score | mean tokens | speed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, each in result["methods"].items():
        lines.append(
            f"| {name} | {score(each, 'BLEU')} | {score(each, 'chrF')} | "
            f"{each['log_probability']:.2f} | {each['tokens']:.1f} | {speed(each)} |"
        )
    lines += [
        "",
        f"Search errors on the {errors['rows']:,} shortest of them, by score without a length "
        f"rule: the optimum was proved for {errors['proved']:,}; it is empty for "
        f"{errors['empty']:,} and shorter than the reference for {errors['shorter']:,}.",
        "",
        "| beam | optimum found | better exists | undecided |",
        "| --- | --- | --- | --- |",
    ]
    for each in errors["widths"]:
        counts = (each[key] / errors["rows"] for key in ("optimal", "missed", "undecided"))
        shares = " | ".join(f"{count:.1%}" for count in counts)
        lines.append(f"| {each['width']} | {shares} |")
    return lines


def with_tables(page: str, lines: list[str]) -> str:
    """A page with these lines between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("docs/search.md has lost the marks between which its tables stand")
    return "\n".join([before + BEGIN, *lines, END + after])


def details(results: dict[str, dict[str, Any]]) -> list[str]:
    """Every metric of each result, with the command and the machine."""
    lines = []
    for name, result in results.items():
        around = result["surroundings"]
        lines += [
            f"\n## {name}\n",
            f"`python bench/foundation.py {name}`, {around['date']}, {around['cores']} cores of "
            f"{around['processor']}, Python {around['python']}, torch {around['torch']}\n",
        ]
        lines += [
            f"- {each['name']} {each['value']:.2f} ({each['low']:.2f}–{each['high']:.2f}), "
            f"`{each['signature']}`"
            for each in result.get("scores", [])
        ]
    return lines


def main() -> None:
    """Write the page, and the tables of the one on search."""
    names = ["start", *ROWS, "decode"]
    paths = {name: RESULTS / f"{name}.json" for name in names}
    results = {n: json.loads(path.read_text()) for n, path in paths.items() if path.exists()}
    decode = results.get("decode")
    page = [INTRODUCTION.rstrip(), *table(results)]
    page += details({name: each for name, each in results.items() if name != "decode"})
    page += decode_details(decode) if decode else []
    (ROOT / "docs").mkdir(exist_ok=True)
    (ROOT / "docs" / "results.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    found, text = RESULTS / "search.json", ROOT / "docs" / "search.md"
    if found.exists():
        lines = search_tables(json.loads(found.read_text()))
        text.write_text(with_tables(text.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
