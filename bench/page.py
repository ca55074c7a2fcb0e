"""Writes docs/results.md, the tables of docs/searches.md and README.md, from bench/results/*.json.

Nothing on them is typed by hand.
"""

import json
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

from cells import machine, ratio_row, score, speed, value, verdict
from foundation import RESULTS, ROOT, write_between
from translation_tables import (
    student_details,
    student_rows,
    translation_details,
    translation_rows,
)

MARKS = (
    "<!-- tables: bench/page.py writes what stands between these two lines -->",
    "<!-- end of tables -->",
)
INTRODUCTION = """# Results

Every figure here was measured by the command beside it and written by `python bench/page.py`.
Intervals are 95 % bootstrap intervals over the test rows. Rows say whether a figure reaches its
target. Labels, tags, dialogs, forecasts and other uses are on [their page](tasks.md).
"""


TRAINED = {"transformer": "Transformer (i)", "lstm": "attentive LSTM (ii)"}
SIDES = ("seqloom", "opennmt")
SERVED = ("share of predict", "tail over median", "latency over lone")


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
    """Each setting for which there is an aim, as a ratio to CTranslate2: the lower of that of time
    and that of processor time, since others on the machine may change the first."""
    return [
        ratio_row(
            f"decoding speed, {name}, as a multiple of CTranslate2's",
            {**each, "ratio": min(each["ratio"], processor_ratio(each))},
        )
        for name, each in result["settings"].items()
        if each["aim"]
    ]


def processor_ratio(each: dict[str, Any]) -> float:
    """Processor time of CTranslate2 as a multiple of ours."""
    return float(each["ctranslate2"]["processor_ms"] / each["seqloom"]["processor_ms"])


KINDS = {
    "lstm": "decoding speed, attentive LSTM, beam 5, {}, as a multiple of OpenNMT-py's",
    "fast": "decoding speed, preset `fast`, {}, as a multiple of the Transformer's",
    "labels": "`predict`, labels of SST-2, as a multiple of its speed before the compiled core",
    "tags": "`predict`, tags of EWT, as a multiple of its speed before the compiled core",
    "steps": "processor time, {}, torch's as a multiple of the compiled core's",
}


def kinds_rows(result: dict[str, Any]) -> list[str]:
    """Each kind of model beside what it is held against."""
    rows = []
    for name, each in result.items():
        found = each["found"]
        if name == "tiny":
            ms, aim = found["ms"], found["aim"]
            what = "one text, a model of 1 M parameters, 6 tokens, from `model(text)` to its output"
            rows.append(f"| {what} | {ms:.2f} ms | at most {aim:g} | {verdict(ms <= aim)} |")
            continue
        parts = {"": found} if "ratio" in found else found
        rows += [ratio_row(KINDS[name].format(part), one) for part, one in parts.items()]
    return rows


def kinds_details(result: dict[str, Any]) -> list[str]:
    """The speed of every system."""
    lines = ["\n## kinds"]
    for name, each in result.items():
        around, found = each["surroundings"], each["found"]
        said = f"load {around['load']:.1f}, medians of {around['rounds']} rounds"
        lines.append(f"\n{machine(f'kinds.py {name}', around)}, {said}\n")
        if name == "tiny":
            lines.append(f"- {found['parameters']:,} parameters, {found['engine']}")
            continue
        for part, one in ({"": found} if "ratio" in found else found).items():
            speeds = (f"{who} {speed:,.1f}/s" for who, speed in one["sentences_per_second"].items())
            lines.append(f"- {part or name}: {', '.join(speeds)}")
    return lines


def train_rows(result: dict[str, Any]) -> list[str]:
    """Each model's speed of training, as a multiple of the fastest other's."""
    return [
        ratio_row(f"training speed, {TRAINED[name]}, as a multiple of the fastest other's", each)
        for name, each in result.items()
    ]


def quality_rows(result: dict[str, Any]) -> list[str]:
    """Minutes to each BLEU, ours and OpenNMT-py's."""
    return [
        f"| minutes to BLEU {aim} on Multi30k (beam 5, lower-cased), ours and OpenNMT-py's | "
        f"{until(each['seqloom'])} and {until(each['opennmt'])} | at most half | "
        f"{verdict(at_most_half(**each))} |"
        for aim, each in result["aims"].items()
        if len(each) == 2
    ]


def until(found: dict[str, Any]) -> str:
    """Minutes to something that was reached, or not in all of them."""
    low, high = found["range"]
    spread = f" ({low:.1f}–{high:.1f})" if high > low else ""
    return f"{'' if found['reached'] else 'more than '}{found['minutes']:.1f}{spread}"


def at_most_half(seqloom: dict[str, Any], opennmt: dict[str, Any]) -> bool:
    """Whether ours was reached in half of the other's time."""
    return bool(seqloom["reached"] and seqloom["minutes"] <= opennmt["minutes"] / 2)


def serve_rows(result: dict[str, Any]) -> list[str]:
    """What clients got of a run in each form, against the aims."""
    rows = [row for form, each in result.items() for row in served_rows(f"served, {form}", each)]
    plain = result["float32"]["memory"]
    shares = {form: each["memory"] / plain for form, each in result.items() if form != "float32"}
    rows += [
        f"| served, {form}: memory of all processes, as a share of float32's | {share:.2f} | "
        f"at most 0.5 | {verdict(share <= 0.5)} |"
        for form, share in shares.items()
    ]
    return rows


def served_rows(name: str, result: dict[str, Any]) -> list[str]:
    """The same for one form."""
    share, tail, few = (result[name] for name in SERVED)
    over = result["ms over predict"]
    what = "a lone client's latency above that of `predict` of one sentence, ms"
    return [
        f"| {name}: {SERVED[0]}, 32 clients | {share:.2f} | at least 0.85 | "
        f"{verdict(share >= 0.85)} |",
        f"| {name}: {SERVED[1]} latency, 32 clients | {tail:.2f} | at most 1.8 | "
        f"{verdict(tail <= 1.8)} |",
        f"| {name}: {SERVED[2]} client's, 4 clients | {few:.2f} | at most 2.5 | "
        f"{verdict(few <= 2.5)} |",
        f"| {name}: {what} | {over:.1f} | at most 2 | {verdict(over <= 2)} |",
    ]


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """One row a figure."""
    lines = ["", "| what | measured | aim | |", "| --- | --- | --- | --- |"]
    if "start" in results:
        lines += start_row(results["start"])
    lines += [timed_row(results[name], *ROWS[name]) for name in ROWS if name in results]
    for name, (rows, _) in COMPARED.items():
        lines += rows(results[name]) if name in results else []
    return lines


def train_details(result: dict[str, Any]) -> list[str]:
    """Tokens a second of every trainer, and losses after equally many updates."""
    lines = ["\n## train\n"]
    for name, each in result.items():
        medians = ", ".join(f"{who} {median(v):,.0f}" for who, v in each["speeds"].items())
        losses = ", ".join(f"{who} {v[-1]:.2f}" for who, v in each["losses"].items() if v)
        lines += [
            f"{machine('train.py', each['surroundings'])}\n",
            f"- {TRAINED[name]}: target tokens a second, "
            f"medians over rounds of {each['updates']} updates ({each['rounds']}): {medians}",
            "- Seqloom computes products in bfloat16, which it chooses by itself where the "
            "processor can; the others compute in float32",
            f"- held-out loss after {each['long']:,} updates: {losses}\n",
        ]
    return lines


def quality_details(result: dict[str, Any]) -> list[str]:
    """The curve of either training."""
    lines = ["\n## quality\n"]
    for name in SIDES:
        if name in result:
            lines.append(f"{machine('quality.py', result[name]['surroundings'])}\n")
            for seed, curve in result[name]["curves"].items():
                points = ", ".join(f"{bleu:.1f} at {at:.0f}" for at, bleu in curve)
                lines.append(f"- {name}, seed {seed}, BLEU at minutes: {points}")
            lines.append("")
    return lines


def levers_details(result: dict[str, Any]) -> list[str]:
    """What each lever gains on held-out data and costs in processor time."""
    around = next(iter(result.values()))["surroundings"]
    lines = [
        "\n## levers\n",
        f"{machine('levers.py', around)}: Multi30k German to English, a Transformer of "
        "3 × 192 with dropout 0.3, and what changes to it do; held-out data, beam 5, lower-cased; "
        "one seed and one process\n",
        "| lever | updates | BLEU | chrF | perplexity of a word | processor seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, each in result.items():
        lines.append(
            f"| {name} | {each['updates']:,} | {score(each, 'BLEU')} | {score(each, 'chrF')} | "
            f"{each['word_perplexity']:.2f} | {each['processor_seconds']:,.0f} |"
        )
    return lines


def serve_details(result: dict[str, Any]) -> list[str]:
    """Sentences a second and latencies of a run in each form."""
    return ["\n## serve", *(line for form in result for line in served_details(form, result[form]))]


def served_details(form: str, result: dict[str, Any]) -> list[str]:
    """Sentences a second and latencies by the number of clients."""
    lines = [
        f"\n{machine('serve.py RUN FILE', result['surroundings'])}: a run in {form}, "
        f"{result['sentences']:,} "
        f"sentences one by one over the loopback, beam {result['beam']}, medians of "
        f"{len(result['rounds']['predict'])} rounds; `predict` over the same sentences in batches: "
        f"{result['predict']:.0f} a second, {result['processor']:.0f} µs of processor each; all "
        f"processes of the server hold {result['memory'] / 1e6:.0f} MB\n",
        "| clients | sentences a second | median | 99th percentile | µs of processor a sentence: "
        "server, decoding processes, clients |",
        "| --- | --- | --- | --- | --- |",
    ]
    for count in (1, 4, 32):
        each = result[f"{count} clients"]
        lines.append(
            f"| {count} | {each['rate']:.1f} | {each['median']:.1f} ms | {each['tail']:.1f} ms | "
            f"{each['server']:.0f}, {each['decoding']:.0f}, {each['client']:.0f} |"
        )
    return lines


def decode_details(result: dict[str, Any]) -> list[str]:
    """Every setting: sentences a second, and processor time of a sentence."""
    around = result["surroundings"]
    lines = [
        "\n## decode\n",
        f"{machine('decode.py', around)}, CTranslate2 {around['ctranslate2']}, load "
        f"{result['load']:.1f}: medians of {result['rounds']} rounds "
        f"over {result['sentences']:,} sentences, in brackets the processor time of one"
        f"{decoded_model(result)}\n",
        "| setting | Seqloom | CTranslate2 | ratio | by processor time | same outputs |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, each in result["settings"].items():
        others = [
            f"{speed(found)}{system.removeprefix('ctranslate2')}"
            for system, found in each.items()
            if system.startswith("ctranslate2")
        ]
        lines.append(
            f"| {name}{each.get('note', '')} | {speed(each['seqloom'])} | {'; '.join(others)} | "
            f"{each['ratio']:.2f} | {processor_ratio(each):.2f} | {each['same']:.1%} |"
        )
    return lines


def decoded_model(result: dict[str, Any]) -> str:
    """How long the model was trained, and whether outputs had a fixed length."""
    said = f"; the model had {result['updates']:,} updates" if "updates" in result else ""
    fixed = result.get("fixed")
    return said + (f"; every output has {fixed} tokens for both" if fixed else "")


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


HEADLINES = {  # (result, description, score)
    "french": ("`make demo`: French to English", "BLEU"),
    "transformer": ("Multi30k, German to English, 29,000 sentences", "BLEU"),
    "task-sst2": ("SST-2, what a film review thinks; 5 models", "accuracy"),
    "task-ewt": ("English EWT, the part of speech of every word", "accuracy"),
    "pronounce-fre": ("French words and how they sound; 5 models", "words wrong"),
    "ptb": ("Penn Treebank, the next word", "perplexity"),
    "shakespeare": ("tinyshakespeare, the next character", "perplexity"),
    "strings-heard": ("3 to 7 spoken digits, written down", "WER"),
    "dialog": ("CamRest676, replies in a conversation", "BLEU"),
}


def headlines() -> list[str]:
    """The headline results: score and minutes of training."""
    lines = ["| learnt from examples | test result | minutes of training |", "| --- | --- | --- |"]
    for name, (words, metric) in HEADLINES.items():
        result = json.loads((RESULTS / f"{name}.json").read_text())
        found = f"{metric} {value(result, metric):.1f}"
        cores = ", on one core" if result["surroundings"]["cores"] == 1 else ""
        lines.append(f"| {words} | {found} | {result['seconds'] / 60:.1f}{cores} |")
    speeds = json.loads((RESULTS / "train.json").read_text())
    ratio = {kind: f"{speeds[kind]['ratio']:.2f}" for kind in TRAINED}
    lines.append(
        f"\nA Transformer trains {ratio['transformer']} times as fast, and an attentive LSTM "
        f"{ratio['lstm']} times, as in the fastest of OpenNMT-py, eole and a plain PyTorch loop, "
        "ours in bfloat16 and theirs in float32. "
        f"{time_to_quality(json.loads((RESULTS / 'quality.json').read_text())['aims'])}"
    )
    return lines


def time_to_quality(aims: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Minutes to each BLEU, in a sentence."""
    if any(len(each) < len(SIDES) for each in aims.values()):
        return "Time to quality is not measured."
    own, other = (listed(until(each[side]) for each in aims.values()) for side in SIDES)
    return (
        f"On Multi30k the model that is chosen automatically is at BLEU {listed(aims)} after {own} "
        f"minutes; OpenNMT-py, with the schedule of its manual, after {other}."
    )


def listed(words: Iterable[str]) -> str:
    """One, two and three."""
    *others, last = words
    return f"{', '.join(others)} and {last}"


def details(results: dict[str, dict[str, Any]]) -> list[str]:
    """Every metric of each result, with the command and the machine."""
    lines = []
    for name, result in results.items():
        around = result["surroundings"]
        lines += [
            f"\n## {name}\n",
            f"{machine(f'foundation.py {name}', around)}\n",
        ]
        lines += [
            f"- {each['name']} {each['value']:.2f} ({each['low']:.2f}–{each['high']:.2f}), "
            f"`{each['signature']}`"
            for each in result.get("scores", [])
        ]
    return lines


Lines = Callable[[dict[str, Any]], list[str]]
COMPARED: dict[str, tuple[Lines, Lines]] = {  # rows of the table, and what stands below it
    "decode": (decode_rows, decode_details),
    "kinds": (kinds_rows, kinds_details),
    "train": (train_rows, train_details),
    "quality": (quality_rows, quality_details),
    "translation": (translation_rows, translation_details),
    "students": (student_rows, student_details),
    "levers": (lambda result: [], levers_details),
    "serve": (serve_rows, serve_details),
}


def main() -> None:
    """Write the page, and the tables of two others."""
    paths = {name: RESULTS / f"{name}.json" for name in ("start", *ROWS, *COMPARED)}
    results = {n: json.loads(path.read_text()) for n, path in paths.items() if path.exists()}
    page = [INTRODUCTION.rstrip(), *table(results)]
    page += details({name: each for name, each in results.items() if name not in COMPARED})
    for name, (_, written) in COMPARED.items():
        page += written(results[name]) if name in results else []
    (ROOT / "docs").mkdir(exist_ok=True)
    (ROOT / "docs" / "results.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    write_between(MARKS, headlines(), ROOT / "README.md")
    found = RESULTS / "search.json"
    if found.exists():
        tables = search_tables(json.loads(found.read_text()))
        write_between(MARKS, tables, ROOT / "docs" / "searches.md")


if __name__ == "__main__":
    main()
