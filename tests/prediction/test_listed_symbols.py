"""Constrained searches among the symbols of shortlists: as all symbols, where only these count."""

from dataclasses import replace
from functools import cache
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.engine.library import core_or_none
from seqloom.engine.matrices import Precision
from seqloom.engine.selection import select_engine
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.fields import SPECIAL_SYMBOLS
from seqloom.prediction import Output, OutputOptions, TextPredictor
from seqloom.prediction.batching import ContinuousBatch
from seqloom.prediction.listing.decoder import ListedDecoder, SymbolList
from seqloom.prediction.request import DecodingRequest, PendingInput, PredictionRequest
from seqloom.search import Beam, Greedy, PatientBeam, Sample, Search
from tests.prediction.untrained import untrained
from tests.shapes import without_shapes

pytestmark = [
    pytest.mark.usefixtures(without_shapes.__name__),
    pytest.mark.skipif(core_or_none() is None, reason="needs the compiled core"),
]
ALPHABET = ascii_lowercase[:14]
SEARCHES: list[Search] = [Greedy(), Beam(4, n_best=2), PatientBeam(3)]
each_search = pytest.mark.parametrize("search", SEARCHES, ids=lambda each: type(each).__name__)
each_precision = pytest.mark.parametrize("precision", ["float32", "int8"])
words = st.text(ALPHABET, min_size=1, max_size=3)
some = st.text(ALPHABET, max_size=3)
wishes = st.tuples(some, st.lists(words, max_size=3), some)  # prefix, required, forbidden


@cache
def network(kind: str) -> TextPredictor:
    """A model on torch."""
    return untrained(kind, texts=(" ".join(ALPHABET),))


@cache
def drawn_shortlist(size: int, seed: int = 1) -> Shortlist:
    """Two symbols for each symbol of a source, and the letters a and b for all."""
    random = np.random.default_rng(seed)
    translations = random.integers(4, size, (size, 2)).astype(np.int32)
    usual = np.arange(len(SPECIAL_SYMBOLS) + 2, dtype=np.int32)
    return Shortlist(translations.ravel(), np.arange(0, 2 * size + 1, 2), usual, size)


@cache
def in_core(kind: str, precision: Precision, *, lists: bool) -> TextPredictor:
    """The same in the core, with or without a shortlist."""
    model = network(kind)
    short = drawn_shortlist(model.target.size) if lists else None
    return replace(model, engine=select_engine(model.network, precision=precision, shortlist=short))


def list_of(model: TextPredictor, source: str, named: str) -> SymbolList:
    """What an output of this source may have, whose constraints name these letters."""
    assert model.engine is not None
    assert model.engine.whole is not None
    assert model.engine.whole.shortlist is not None
    shared = model.engine.whole.shortlist.shared
    decoder = ListedDecoder(model.engine.whole.decoder, shared)
    (row,) = model.source.rows([source])
    return decoder.symbol_list(row, model.target.encode(named).tolist())


def letters_of(model: TextPredictor, own: SymbolList) -> str:
    listed = sorted({*own.common.tolist(), *own.own.tolist()})
    found = model.target.tokens([symbol for symbol in listed if symbol >= len(SPECIAL_SYMBOLS)])
    return "".join(found).replace("␣", " ")


def same(ours: Output, theirs: Output) -> None:
    assert ours.text == theirs.text
    assert ours.stopped == theirs.stopped
    assert ours.score == pytest.approx(theirs.score, abs=2e-3)


CASES = [
    OutputOptions(prefix="kc"),
    OutputOptions(require=("ml", "d")),
    OutputOptions(require=("jj",), prefix="n", forbid=("b", "da")),
    OutputOptions(forbid=("a", "cd")),
]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("options", CASES, ids=["prefix", "required", "all", "forbidden"])
@each_precision
@each_search
def test_symbols_outside_a_list_are_as_forbidden(
    search: Search, precision: Precision, options: OutputOptions, kind: str
) -> None:
    """In the core with all symbols, and on torch: texts and probabilities, which count what is
    absent. Here all absent symbols are sampled."""
    listed, sources = in_core(kind, precision, lists=True), ["abc", "k", "nm da", "gh"]
    others = [in_core(kind, precision, lists=False)]
    if precision == "float32":
        others.append(network(kind))
    found = listed.predict(sources, search=search, options=options)
    for source, ours in zip(sources, found, strict=True):
        named = "".join((str(options.prefix), *options.require, *options.forbid))
        known = letters_of(listed, list_of(listed, source, named))
        absent = tuple(letter for letter in (*ALPHABET, " ") if letter not in known)
        closed = replace(options, forbid=(*options.forbid, *absent))
        for other in others:
            same(ours, other.predict([source], search=search, options=closed)[0])


@each_search
@each_precision
@settings(max_examples=25)
@given(wish=wishes, source=words)
def test_constraints_hold_as_they_do_with_all_symbols(
    search: Search, precision: Precision, wish: tuple[str, list[str], str], source: str
) -> None:
    """No required phrase is ever missing, the prefix comes first, and what is forbidden is nowhere
    after it; where all symbols give an output that ends, so does a list."""
    prefix, required, forbidden = wish
    banned = tuple(set(forbidden) - set("".join(required)))
    options = OutputOptions(prefix=prefix, require=tuple(required), forbid=banned)
    for lists in (True, False):
        model = in_core("transformer", precision, lists=lists)
        (output,) = model.predict([source], search=search, options=options)
        assert output.text.startswith(prefix)
        assert not set(output.text[len(prefix) :]) & set(banned)
        if required:
            assert output.stopped == "end"
            assert all(phrase in output.text for phrase in required)


@each_precision
@settings(max_examples=60)
@given(required=words, prefix=st.text(ALPHABET, max_size=2), source=words)
def test_an_output_of_all_symbols_that_is_listed_is_found(
    precision: Precision, required: str, prefix: str, source: str
) -> None:
    """Step by step the likeliest symbol is the same, if it is listed."""
    options = OutputOptions(prefix=prefix, require=(required,))
    free, listed = (in_core("lstm", precision, lists=lists) for lists in (False, True))
    (expected,) = free.predict([source], search=Greedy(), options=options)
    known = letters_of(listed, list_of(listed, source, required + prefix))
    if set(expected.text) <= set(known):
        same(listed.predict([source], search=Greedy(), options=options)[0], expected)


@each_precision
@settings(max_examples=10)
@given(required=st.text(ALPHABET, min_size=1, max_size=1), source=st.text(ALPHABET, min_size=1))
def test_a_beam_that_holds_every_path_finds_the_best_if_it_is_listed(
    precision: Precision, required: str, source: str
) -> None:
    def short(model: TextPredictor) -> TextPredictor:
        few = {"max_ratio": 0.0, "max_extra": 2}
        options = model.config.search.model_copy(update=few)
        return replace(model, config=model.config.model_copy(update={"search": options}))

    options, search = OutputOptions(require=(required,)), Beam(500)
    free, listed = (short(in_core("lstm", precision, lists=lists)) for lists in (False, True))
    (expected,) = free.predict([source[:2]], search=search, options=options)
    known = letters_of(listed, list_of(listed, source[:2], required))
    if set(expected.text) <= set(known):
        same(listed.predict([source[:2]], search=search, options=options)[0], expected)


@each_precision
def test_a_list_never_runs_out_of_symbols(precision: Precision) -> None:
    """Where no symbol may come twice, lists grow until one is left at every step."""
    few = {"min_extra": 7, "max_extra": 7, "max_ratio": 0.0}

    def long(model: TextPredictor) -> TextPredictor:
        options = model.config.search.model_copy(update=few)
        return replace(model, config=model.config.model_copy(update={"search": options}))

    options = OutputOptions(no_repeat=1, forbid=tuple("abc"))
    for lists in (True, False):
        model = long(in_core("transformer", precision, lists=lists))
        for output in model.predict(["a", "mn"], search=Beam(3), options=options):
            assert len(output.text) == len(set(output.text)) >= 6
            assert not set(output.text) & set("abc")


@each_search
def test_batch_mates_and_joining_change_nothing(search: Search) -> None:
    """Inputs with prefixes of their own come and go, and what is certain of them is told early."""
    model = in_core("transformer", "float32", lists=True)
    sources, prefixes = ["abc", "k", "nm da", "gh", "b"], ["", "ka", "m", "", "nnn"]
    asked = model.decoding_request(
        PredictionRequest(search, options=OutputOptions(prefix=prefixes, require=("el",)))
    )
    waiting = pending(model, sources, asked)
    alone = {each.tag: found for each in waiting for found in decode_alone(model, each)}
    running: ContinuousBatch[int] = ContinuousBatch(model)
    outputs = running.add(waiting[:2])
    for newcomer in waiting[2:]:
        outputs |= running.advance()
        outputs |= running.add([newcomer])
    told: dict[int, str] = {}
    while not running.done:
        for tag in running.tags:
            tokens = [each.token for each in running.stable_tokens(tag, 0)]
            told[tag] = model.target.decode(tokens)
        outputs |= running.advance()
    assert told
    for tag, output in outputs.items():
        same(output, alone[tag])
        assert output.text.startswith(told.get(tag, ""))
    assert not running.lists


def pending(
    model: TextPredictor, sources: list[str], asked: DecodingRequest
) -> list[PendingInput[int]]:
    encoded = model.input_reader.read_all(sources).encoded
    return [PendingInput(n, each, n, asked) for n, each in enumerate(encoded)]


def decode_alone(model: TextPredictor, given: PendingInput[int]) -> list[Output]:
    running: ContinuousBatch[int] = ContinuousBatch(model)
    outputs = running.add([given])
    while not running.done:
        outputs |= running.advance()
    return list(outputs.values())


def test_draws_alternatives_and_trees_are_of_all_symbols() -> None:
    """As they are without a shortlist."""
    listed, free = (in_core("lstm", "float32", lists=lists) for lists in (True, False))
    for search, options in (
        (Sample(draws=2), OutputOptions(require=("m",))),
        (Beam(3), OutputOptions(alternatives=20)),
        (Beam(3), OutputOptions(tree=True, prefix="k")),
    ):
        ours, theirs = (m.predict(["abc"], search=search, options=options) for m in (listed, free))
        assert [each.as_dict() for each in ours] == [each.as_dict() for each in theirs]
