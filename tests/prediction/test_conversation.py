"""A conversation: every reply is the model's output for all that was said (S8, S7.4)."""

from dataclasses import replace

import pytest

from seqloom.config import TurnsConfig
from seqloom.errors import ConfigError, DataError
from seqloom.fields import TurnsField, join_turns
from seqloom.prediction import Conversation, TextPredictor
from seqloom.search import Beam, Exact, Greedy, Ranking, Sample, Search
from tests.prediction.untrained import untrained

SEARCHES = [None, Greedy(), Beam(3), Sample(seed=3), Exact(Ranking(), expansions=30)]


def talking(kind: str = "lstm") -> TextPredictor:
    """A model of turns that has learnt nothing."""
    texts = ["a b c ab ba abc cab x y"]
    source = TurnsField.learn(TurnsConfig(unit="character"), texts, seed=1)
    model = untrained(kind)
    data = model.config.data.model_copy(update={"turns": True})
    return replace(model, source=source, config=model.config.model_copy(update={"data": data}))


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_reply_is_the_output_for_the_whole_history(kind: str, search: Search | None) -> None:
    """And what is shown before it is whole is never taken back."""
    model = talking(kind)
    talk = Conversation(model, search)
    said: list[str] = []
    for number, turn in enumerate(["ab", "c a", "abc"]):
        said.append(turn)
        *parts, whole = talk.reply(turn)
        assert all(whole.startswith(part) for part in parts)
        inputs = ["a"] * number + [join_turns(said)]  # draws depend on the number of an input
        assert whole == model.predict(inputs, search=search)[-1].text
        said.append(whole)
    assert talk.turns == said


def test_undo_and_reset() -> None:
    """What is forgotten has no influence: the same turn has the same reply again."""
    talk = Conversation(talking(), Greedy())
    *_, first = talk.reply("ab")
    before = list(talk.turns)
    *_, second = talk.reply("c")
    assert talk.undo()
    assert talk.turns == before
    *_, again = talk.reply("c")
    assert again == second
    talk.reset()
    assert not talk.undo()
    *_, anew = talk.reply("ab")
    assert (anew, talk.turns) == (first, ["ab", first])


def test_a_reply_that_is_given_up_is_not_kept() -> None:
    talk = Conversation(talking(), Greedy())
    next(talk.reply("ab"))
    assert talk.turns == []


def test_lists_are_for_turns() -> None:
    model = talking()
    history = ["ab", "c", "ba"]
    (listed,), (written,) = model.predict([history]), model.predict([join_turns(history)])
    assert listed == written
    assert model(history).text == listed.text
    with pytest.raises(DataError, match="line 1: a list is given, and the run reads column 1; "):
        untrained().predict([history])
    with pytest.raises(ConfigError, match="reads characters, .*, not turns"):
        Conversation(untrained())
