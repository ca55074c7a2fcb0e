"""Spans, their precision, recall and F1 are those of seqeval, leniently and strictly."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqloom.metrics import (
    Predictions,
    TagScheme,
    detect_scheme,
    find_spans,
    metrics_for,
    span_report,
    target_scores,
)

CASES = json.loads((Path(__file__).parent / "seqeval_cases.json").read_text(encoding="utf-8"))
each_case = pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))


@each_case
def test_spans_are_those_of_seqeval(case: dict[str, Any]) -> None:
    """Of valid and of invalid tags (scripts/spans draws them)."""
    scheme = TagScheme[case["scheme"]]
    rows = [row.split() for row in case["outputs"]]
    lenient = [[list(span) for span in find_spans(row, scheme)] for row in rows]
    strict = [[list(span) for span in find_spans(row, scheme, strict=True)] for row in rows]
    assert lenient == case["lenient"]
    assert strict == case["strict"]


@each_case
def test_scores_are_those_of_seqeval(case: dict[str, Any]) -> None:
    rows = Predictions("tags", case["outputs"], case["references"])
    if not rows.scheme.marks_spans:
        assert all(tag == "O" for row in case["references"] for tag in row.split())
        return
    found = {each.name: each.score(rows, seed=None).value for each in metrics_for(rows)}
    names = ("span F1", "span precision", "span recall")
    assert [found[name] for name in names] == pytest.approx([100 * x for x in case["scores"]])
    report = span_report(rows)
    ours = sorted(report.classes, key=lambda each: each.name)
    precision, recall, f1, support = case["by_type"]
    assert [each.precision for each in ours] == pytest.approx([100 * x for x in precision])
    assert [each.recall for each in ours] == pytest.approx([100 * x for x in recall])
    assert [each.f1 for each in ours] == pytest.approx([100 * x for x in f1])
    assert [each.support for each in ours] == support
    assert report.micro.f1 == pytest.approx(found["span F1"])


@pytest.mark.parametrize(
    ("row", "scheme"),
    [
        ("O B-a I-a O B-b", TagScheme.BIO),
        ("B-a B-a I-a", TagScheme.BIO),
        ("O O B-a", TagScheme.BIO),
        ("O I-a I-a O I-b", TagScheme.IOB1),
        ("I-a I-a B-a O I-b", TagScheme.IOB1),
        ("B-a I-a O I-b", TagScheme.BIO),
        ("B-a I-a E-a O S-b", TagScheme.BIOES),
        ("S-a O", TagScheme.BIOES),
        ("B-a I-a L-a O U-b", TagScheme.BILOU),
        ("B I I O B", TagScheme.BIO),
        ("O O", TagScheme.NONE),
        ("NOUN VERB O", TagScheme.NONE),
        ("N V N", TagScheme.NONE),
        ("B-a X-a", TagScheme.NONE),
        ("B-a NOUN", TagScheme.NONE),
    ],
)
def test_the_scheme_is_told_from_the_tags(row: str, scheme: TagScheme) -> None:
    assert detect_scheme([row.split()]) is scheme


def test_spans_lead_where_tags_mark_them() -> None:
    """Found is one of two spans, and one that is not there; 3 of 5 tags are right."""
    scores = target_scores("tags", ["B-a I-a O B-b O"], ["B-a I-a O O B-b"])
    names = ["span F1", "span precision", "span recall", "accuracy", "macro F1", "whole rows"]
    assert [each.name for each in scores] == names
    assert [each.value for each in scores[:4]] == pytest.approx([50, 50, 50, 60])
    assert scores[0].signature == "scheme:BIO|lenient|spans:2"


def test_strict_mode_refuses_what_the_scheme_does() -> None:
    """An I-a after O is a span for conlleval, and none for IOB2."""
    outputs, references = ["O I-a I-a"], ["O B-a I-a"]
    rows = Predictions("tags", outputs, references)
    assert span_report(rows).micro.f1 == 100
    assert span_report(rows, strict=True).micro.f1 == 0
