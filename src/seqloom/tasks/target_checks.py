"""Checks of targets: misspelt labels, and texts that may be labels, tags or numbers."""

import re
from collections import Counter
from collections.abc import Iterator

from seqloom.remedies import Remedy
from seqloom.runs.findings import Evidence, Finding, count_of

__all__ = ["LABEL_CHECKS", "TEXT_CHECKS"]

LISTED = 8  # labels per line
SLIP_LENGTH = 5  # shortest label in which one wrong letter is a slip
RARE = 0.1  # of the other label's count, below which a label may be a slip of it
MOST_COMPARED = 500  # labels compared pairwise
NEARLY_ALL = 0.95  # of the rows
FEW_TARGETS = 50  # most distinct targets that may be labels ...
ROWS_EACH = 20  # ... if each occurs this often on average
MOST_TAGS = 200  # most distinct tags
SPREAD = 20  # most distinct numbers that may be labels


def label_counts(evidence: Evidence) -> Iterator[Finding]:
    """The count of each label; warns of a single label, or of nearly as many labels as rows."""
    counts = Counter(target.strip() for target in evidence.targets)
    rows = counts.total()
    if len(counts) == 1:
        yield Finding(f"all rows have the label {next(iter(counts))!r}: nothing is to learn", True)
    elif rows >= SPREAD and len(counts) > rows / 2:
        yield Finding(
            Remedy(
                f"{len(counts):,} different labels in {count_of(rows, 'row')}: most come once; "
                "write {} or {} if it is no column of labels",
                evidence.target_kind("text"),
                evidence.target_kind("number"),
            ),
            True,
        )
    else:
        once = [label for label, count in counts.items() if count == 1]
        named = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(LISTED))
        more = f" and {len(counts) - LISTED:,} more" if len(counts) > LISTED else ""
        single = f"; {count_of(len(once), 'label')} only once" if once else ""
        yield Finding(f"{count_of(len(counts), 'label')}: {named}{more}{single}")


def label_slips(evidence: Evidence) -> Iterator[Finding]:
    """Labels that differ only in case or spaces, or by one typing error."""
    counts = Counter(target.strip() for target in evidence.targets)
    labels = [label for label, _ in counts.most_common(MOST_COMPARED)]
    pairs = [
        (rare, usual)
        for place, rare in enumerate(labels)
        for usual in labels[:place]
        if _is_slip(rare, usual, counts)
    ]
    if pairs:
        told = ", ".join(
            f"{rare!r} ({counts[rare]:,}) and {usual!r} ({counts[usual]:,})"
            for rare, usual in pairs[:LISTED]
        )
        yield Finding(f"labels that may be the same: {told}; write each in one way", True)


def _is_slip(rare: str, usual: str, counts: Counter[str]) -> bool:
    from rapidfuzz.distance import OSA

    if _plain(rare) == _plain(usual):
        return True
    if min(len(rare), len(usual)) < SLIP_LENGTH or counts[rare] > RARE * counts[usual]:
        return False
    digits = re.sub(r"\d+", "0", rare) == re.sub(r"\d+", "0", usual)
    return not digits and OSA.distance(rare, usual, score_cutoff=1) == 1


def _plain(label: str) -> str:
    return re.sub(r"[\W_]+", "", label.casefold())


def looks_like_labels(evidence: Evidence) -> Iterator[Finding]:
    """Texts with few distinct short values."""
    targets = [target.strip() for target in evidence.targets]
    different = set(targets)
    short = all(len(each.split()) <= 3 for each in different) if different else False
    if 1 < len(different) <= FEW_TARGETS and len(targets) >= ROWS_EACH * len(different) and short:
        named = ", ".join(repr(each) for each in sorted(different)[:4])
        named += ", ..." * (len(different) > 4)
        yield Finding(
            Remedy(
                "there are only {} different targets ({}); write {} if they are labels",
                str(len(different)),
                named,
                evidence.target_kind("label"),
            ),
            True,
        )


def looks_like_numbers(evidence: Evidence) -> Iterator[Finding]:
    """Texts that are numbers."""
    targets = evidence.targets
    numbers = [each for each in targets if re.fullmatch(r"\s*[-+]?\d+([.]\d+)?\s*", each)]
    if len(numbers) >= NEARLY_ALL * len(targets) and len(set(numbers)) > SPREAD:
        yield Finding(
            Remedy(
                "the targets are numbers and will be written digit by digit; write {} if their "
                "size is meant",
                evidence.target_kind("number"),
            )
        )


def looks_like_tags(evidence: Evidence) -> Iterator[Finding]:
    """Texts of few distinct words, one for each word of the source."""
    pairs = [(source.split(), target.split()) for source, target in evidence.survey.sample]
    longer = [(source, target) for source, target in pairs if len(source) > 1]
    if len(longer) < max(SPREAD, len(pairs) / 2):
        return
    aligned = sum(len(source) == len(target) for source, target in pairs) / len(pairs)
    tags = {word for _, target in pairs for word in target}
    words = {word for source, _ in pairs for word in source}
    if aligned >= NEARLY_ALL and len(tags) <= MOST_TAGS and len(words) >= 3 * len(tags):
        yield Finding(
            Remedy(
                "the target has one word for each word of the source, of {} kinds; write {} if "
                "they are tags",
                str(len(tags)),
                evidence.target_kind("tags"),
            ),
            True,
        )


LABEL_CHECKS = (label_counts, label_slips)
TEXT_CHECKS = (looks_like_labels, looks_like_numbers, looks_like_tags)
