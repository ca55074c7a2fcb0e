"""Tables of what models of Multi30k reach: bench/translation.py and bench/students.py."""

from statistics import mean
from typing import Any

from cells import machine, ratio_row, score, speed, value, verdict

__all__ = ["student_details", "student_rows", "translation_details", "translation_rows"]

STUDENT_AIMS = {  # systems that a student is compared with, and how many times as fast it is to be
    "teacher, beam 5, float32": 8.0,
    "teacher, beam 5, int8, CTranslate2": 5.0,
}
TRANSLATED = {
    "de-en": "Multi30k German to English, default settings",
    "en-de": "Multi30k English to German, default settings",
    "lstm": "Multi30k German to English, `--model lstm`",
}


def translation_rows(result: dict[str, Any]) -> list[str]:
    """Each direction and preset: BLEU and minutes, means over the seeds."""
    rows = []
    for name, each in result.items():
        bleu = [value(found, "BLEU") for found in each["seeds"].values()]
        minutes = mean(found["seconds"] / 60 for found in each["seeds"].values())
        seeds = f"mean of {len(bleu)} seeds" if len(bleu) > 1 else "one seed"
        rows.append(
            f"| {TRANSLATED[name]}, beam 5, lower-cased, {seeds} | {minutes:.1f} minutes, BLEU "
            f"{mean(bleu):.1f} ({min(bleu):.1f}–{max(bleu):.1f}) | at most 60 minutes, at least "
            f"{each['aim']:g} | {verdict(minutes <= 60 and mean(bleu) >= each['aim'])} |"
        )
    return rows


def translation_details(result: dict[str, Any]) -> list[str]:
    """Every seed, with the time that it took."""
    lines = ["\n## translation"]
    for name, each in result.items():
        around = next(iter(each["seeds"].values()))["surroundings"]
        lines.append(f"\n{machine(f'translation.py {name}', around)}\n")
        for seed, found in each["seeds"].items():
            options = f" with {', '.join(found['options'])}" if found["options"] else ""
            used = found["processor_seconds"]
            processor = f"{used / 60:.1f} minutes of processor time, " if used else ""
            lines.append(
                f"- seed {seed}{options}: BLEU {score(found, 'BLEU')}, chrF "
                f"{score(found, 'chrF')}, on the held-out rows BLEU {found['held_out']:.1f}; "
                f"{found['updates']:,} updates in {found['seconds'] / 60:.1f} minutes, "
                f"{processor}load {found['load']:.1f}"
            )
    return lines


def student_rows(result: dict[str, Any]) -> list[str]:
    """Students against their aims: quality beside the teacher's, and speed."""
    rows, own = [], value(result["teacher"], "BLEU")
    for name, each in result["students"].items():
        gain = value(each, "BLEU") - own
        single = each["teachers"] == 1
        aim = -0.3 if single else 0.8
        what = "greedy, minus its teacher's with beam 5" if single else "minus a single model's"
        rows.append(
            f"| BLEU of student `{name}`, {what} | {gain:+.1f} | at least {aim:+g} | "
            f"{verdict(gain >= aim)} |"
        )
        if single and "speeds" in result:
            for other, least in STUDENT_AIMS.items():
                found = result["speeds"]
                rate = found[name]["sentences_per_second"] / found[other]["sentences_per_second"]
                what = f"speed of student `{name}` as a multiple of its {other}"
                rows.append(ratio_row(what, {"ratio": rate, "aim": least}))
    return rows


def student_details(result: dict[str, Any]) -> list[str]:
    """Scores, sizes and speeds of teacher and students."""
    lines = [
        "\n## students\n",
        f"{machine('students.py', result['surroundings'])}, load "
        f"{result['surroundings']['load']:.1f}\n",
        "| model | BLEU | chrF | updates | minutes | megabytes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, each in {"teacher, beam 5": result["teacher"], **result["students"]}.items():
        lines.append(
            f"| {name} | {score(each, 'BLEU')} | {score(each, 'chrF')} | {each['updates']:,} | "
            f"{each['seconds'] / 60:.1f} | {each['megabytes']:.1f} |"
        )
    systems = {name: each for name, each in result.get("speeds", {}).items() if name != "theirs"}
    if systems:
        lines.append(
            f"\nStudents search greedily, in int8 with a shortlist; CTranslate2: "
            f"{result['speeds']['theirs']}; medians of {result['surroundings']['rounds']} rounds.\n"
        )
        lines += [f"- {name}: {speed(each)}" for name, each in systems.items()]
    return lines
