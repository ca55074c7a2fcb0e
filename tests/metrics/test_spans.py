"""Spans, their precision, recall and F1 are those of seqeval, leniently and strictly."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import (  # type: ignore[import-untyped]
    f1_score,
    precision_score,
    recall_score,
)
from seqeval.metrics.sequence_labeling import (  # type: ignore[import-untyped]
    get_entities,
    precision_recall_fscore_support,
)
from seqeval.scheme import (  # type: ignore[import-untyped]
    BILOU,
    IOB1,
    IOB2,
    IOBES,
    Tokens,
)

from seqloom.metrics import (
    Predictions,
    TagScheme,
    detect_scheme,
    find_spans,
    metrics_for,
    span_report,
    target_scores,
)

PREFIXES = {
    TagScheme.BIO: "BI",
    TagScheme.IOB1: "BI",
    TagScheme.BIOES: "BIES",
    TagScheme.BILOU: "BILU",
}
STRICT = {
    TagScheme.BIO: IOB2,
    TagScheme.IOB1: IOB1,
    TagScheme.BIOES: IOBES,
    TagScheme.BILOU: BILOU,
}
schemes = st.sampled_from(list(PREFIXES))


def tags(scheme: TagScheme) -> st.SearchStrategy[str]:
    typed = [f"{prefix}-{kind}" for prefix in PREFIXES[scheme] for kind in ("PER", "to-loc")]
    return st.sampled_from(["O", *typed])


@st.composite
def tagged(draw: st.DrawFn) -> tuple[TagScheme, list[list[str]], list[list[str]]]:
    """A scheme with outputs and references of the same lengths, valid or not."""
    scheme = draw(schemes)
    row = st.lists(st.tuples(tags(scheme), tags(scheme)), min_size=1, max_size=8)
    rows = draw(st.lists(row, min_size=1, max_size=4))
    return scheme, [[a for a, _ in each] for each in rows], [[b for _, b in each] for each in rows]


def bioes(row: list[str]) -> list[str]:
    """BILOU in the letters that seqeval's lenient mode knows."""
    return [{"L": "E", "U": "S"}.get(tag[0], tag[0]) + tag[1:] for tag in row]


@given(case=tagged())
def test_lenient_spans_are_those_of_seqeval(
    case: tuple[TagScheme, list[list[str]], list[list[str]]],
) -> None:
    scheme, rows, _ = case
    for row in rows:
        theirs = [(kind, start, end + 1) for kind, start, end in get_entities(bioes(row))]
        assert find_spans(row, scheme) == theirs


@given(case=tagged())
def test_strict_spans_are_those_of_seqeval(
    case: tuple[TagScheme, list[list[str]], list[list[str]]],
) -> None:
    scheme, rows, _ = case
    for row in rows:
        theirs = [(each.tag, each.start, each.end) for each in Tokens(row, STRICT[scheme]).entities]
        assert find_spans(row, scheme, strict=True) == theirs


@given(case=tagged())
def test_scores_are_those_of_seqeval(
    case: tuple[TagScheme, list[list[str]], list[list[str]]],
) -> None:
    _, outputs, references = case
    rows = Predictions("tags", [*map(" ".join, outputs)], [*map(" ".join, references)])
    if not rows.scheme.marks_spans:
        assert all(tag == "O" for row in references for tag in row)
        return
    truth, guesses = [*map(bioes, references)], [*map(bioes, outputs)]
    found = {each.name: each.score(rows, seed=None).value for each in metrics_for(rows)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found["span F1"] == pytest.approx(100 * f1_score(truth, guesses))
        assert found["span precision"] == pytest.approx(100 * precision_score(truth, guesses))
        assert found["span recall"] == pytest.approx(100 * recall_score(truth, guesses))
        theirs = precision_recall_fscore_support(truth, guesses, average=None)
    report = span_report(rows)
    ours = sorted(report.classes, key=lambda each: each.name)
    assert [each.precision for each in ours] == pytest.approx(100 * theirs[0])
    assert [each.recall for each in ours] == pytest.approx(100 * theirs[1])
    assert [each.f1 for each in ours] == pytest.approx(100 * theirs[2])
    assert [each.support for each in ours] == theirs[3].tolist()
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
