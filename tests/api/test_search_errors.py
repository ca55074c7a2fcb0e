"""`evaluate --search-errors`: what beams miss is counted as it is (S7.5)."""

import pytest

from seqloom.api.evaluate import Result, compare, search_errors
from seqloom.api.load import load_text_predictor
from seqloom.prediction import TextPredictor
from seqloom.search import PLAIN, Beam, Exact
from tests.runs.finished import make_run
from tests.runs.support import PAIRS

ROWS = PAIRS[::7]


def test_each_sentence_is_counted_once_for_each_width() -> None:
    """Six sentences by hand: found, missed, missed for want of an end, tied, undecided, endless."""
    optima = [
        Result(-1.0, 3, ended=True),
        Result(-1.0, 0, ended=True),
        Result(-2.0, 4, ended=True, limited=True),
        Result(-3.0, 2, ended=True),
        Result(-4.0, 5, ended=True, limited=True),
        Result(-5.0, 9, ended=False),
    ]
    beam = [
        Result(-1.0, 3, ended=True),
        Result(-1.5, 4, ended=True),
        Result(-0.5, 9, ended=False),
        Result(-3.00001, 2, ended=True),
        Result(-4.0, 5, ended=True),
        Result(-5.0, 9, ended=False),
    ]
    found = compare(optima, {1: beam, 3: optima}, [3, 3, 3, 3, 3, 3])
    assert (found.rows, found.proved, found.empty, found.shorter) == (6, 3, 1, 2)
    first, second = found.widths
    assert (first.width, first.optimal, first.missed, first.undecided) == (1, 2, 2, 2)
    assert (second.width, second.optimal, second.missed, second.undecided) == (3, 3, 0, 3)


def test_a_better_output_convicts_though_it_is_not_proved() -> None:
    """The best known need not be the best for a beam to have missed it."""
    known, beam = Result(-1.0, 3, ended=True, limited=True), Result(-2.0, 3, ended=True)
    (width,) = compare([known], {1: [beam]}, [3]).widths
    assert (width.missed, width.undecided) == (1, 0)


def test_nothing_is_counted_of_nothing() -> None:
    found = compare([], {1: []}, [])
    assert (found.rows, found.proved, found.widths[0].optimal) == (0, 0, 0)
    assert len(found.lines()) == 7


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TextPredictor:
    return load_text_predictor(make_run(tmp_path_factory.mktemp("run")))


def test_counts_are_those_of_the_outputs(model: TextPredictor) -> None:
    """Counted again from the outputs of each search, one row at a time."""
    found = search_errors(model, ROWS, widest=3)
    sources = [source for source, _ in ROWS]
    optima = [model.predict([source], search=Exact())[0] for source in sources]
    assert found.rows == len(ROWS)
    assert found.proved == sum(output.stopped == "end" for output in optima)
    assert found.empty == sum(output.stopped == "end" and not output.text for output in optima)
    for each in found.widths:
        outputs = [model.predict([s], search=Beam(each.width, PLAIN))[0] for s in sources]
        worse = [
            best.score > mine.score + 1e-4 or mine.stopped != "end"
            for mine, best in zip(outputs, optima, strict=True)
        ]
        assert each.missed == sum(worse)
        assert each.optimal + each.missed + each.undecided == found.rows
    assert [each.width for each in found.widths] == [1, 2, 3]
    assert found.widths[0].missed >= found.widths[-1].missed


def test_a_limit_leaves_sentences_undecided(model: TextPredictor) -> None:
    """With one path to read, next to nothing is proved; what is missed is missed all the same."""
    hurried = search_errors(model, ROWS, widest=1, search=Exact(expansions=1, width=1))
    patient = search_errors(model, ROWS, widest=1)
    assert hurried.proved < patient.proved
    assert hurried.widths[0].undecided > patient.widths[0].undecided
    assert hurried.widths[0].missed <= patient.widths[0].missed


def test_json_and_table_say_the_same(model: TextPredictor) -> None:
    found = search_errors(model, ROWS, widest=2)
    plain = found.as_dict()
    lines = found.lines()
    assert lines[1].split()[:3] == ["optimum", "proved", str(plain["proved"])]
    for line, width in zip(lines[-2:], plain["widths"], strict=True):
        cells = [cell for cell in line.split() if "%" not in cell]
        assert cells == [str(width[name]) for name in ("width", "optimal", "missed", "undecided")]
