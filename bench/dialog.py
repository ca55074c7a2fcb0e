"""Measures replies in restaurant dialogs, CamRest676 (docs/tasks.md).

    python bench/dialog.py [NAME ...]

The file lies in the folder that SEQLOOM_SHARED_DATA names, as camrest676/CamRest676.json. The first
three fifths of the dialogs are learnt from, the next fifth chooses the step that is used, the last
is the test. Names: dialog (replies to all that was said), dialog-alone (to the last turn only). A
training that was stopped goes on where it was. Each result is kept in bench/results/NAME.json, and
what has one is not measured again unless it is named.

All text is put in small letters with single spaces. What a reply says of one restaurant is replaced
by a placeholder in the machine's turns, those in the history too, as follows and in this order:

- value_phone: a telephone number of nine to eleven digits;
- value_postcode: a postcode such as "c.b 2, 1 u.j";
- value_address: a number and up to six words that end in a word for a street, or such words without
  a number after "at" or "address is"; the districts that follow belong to it;
- value_name: a name of one to four words, "the" before it included. The data has no list of
  restaurants, so names are found in the replies that are learnt from: what stands before "is a",
  "is located", "serves" and the like, or between "address of" and "is", twice or oftener and
  without a word such as "it" or "there";
- value_food, value_area, value_pricerange: what people ask for according to the annotations of
  the dialogs that are learnt from, and "center", "moderately" and "inexpensive".

People's turns stay as they are. BLEU is that of sacrebleu; a placeholder is one word to it.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from foundation import RESULTS, RUNS, evaluation, shared, trained
from uses import keep

PLACE = RUNS / "dialog"
RUN_OPTIONS = ["--source", "turns:turns", "--target", "turns", "--model", "lstm"]
KINDS: dict[str, list[str]] = {"dialog": [], "dialog-alone": ["--set", "source.most_turns=1"]}

PHONE = r"\b0\d{2,4}[\s-]*\d{3}\s?\d{3,4}\b|\b0\d{8,10}\b|\b1223[\s-]*\d{6}\b"
POSTCODE = r"\bc\s*\.?\s*b\s*\.?,?\s*\d+\s*,?\s*\d\s*\.?[a-z]\s*\.?\s*[a-z]\b\.?"
STREET = (
    r"(?:street|road|lane|avenue|yard|park|way|crescent|hill|passage|square|parade|church|green"
    r"|row)\b"
)
DISTRICT = (
    r"(?:,?\s+(?:city centre|city center|chesterton|fen ditton|cherry hinton|newnham|arbury|castle "
    r"hill|trumpington|kings hedges)\b)*"
)
STREETS = rf"{STREET}(?:,?(?:\s+[\w']+){{0,3}}?\s+{STREET})*{DISTRICT}"
ADDRESS = (
    rf"\b[a-z]?\d+[a-z]?(?:\s*(?:-|and)\s*\d+)?(?:\s+[\w']+){{0,6}}?\s+{STREETS}"
    rf"|(?<=\bat )(?:[\w']+\s+){{1,5}}?{STREETS}|(?<=address is )(?:[\w']+\s+){{1,5}}?{STREETS}"
)
SAID_OF = r"is an?|is the|is in|is located|is at|is on|is moderately|is cheap|is expensive|serves"
SUBJECT = re.compile(
    r"(?:^|[.!?,;] |yes )(?:the )?((?:[a-z][\w'&]*\s+){0,3}?[a-z][\w&]*)(?:'s)? "
    rf"(?:{SAID_OF}|offers|phone|address|are located)\b"
)
OWNER = re.compile(
    r"(?:number|address|postcode|postal code|code) (?:for|of) (?:the )?((?:[\w'&]+\s+){0,3}?"
    r"[\w'&]+?) (?:is|are)\b"
)
NO_NAME = set(
    re.findall(
        r"\w+",
        "a address also all and another are area at both but code cuisine currently food for from "
        "has have he here how i in is it its kind located my no number of on one only option "
        "options other part phone place postal postcode price range restaurants s serves serving "
        "sure that the their them there they thier thing this to town type we what where which "
        "whose with would yes you your value_address value_phone value_postcode",
    )
)
COMMON = {"bar", "city", "hotel", "restaurant"}  # in names, but never alone
FURTHER = {"area": {"center"}, "pricerange": {"moderately", "inexpensive"}}


class Values(NamedTuple):
    """What is replaced by placeholders: names, and the values of each slot."""

    names: list[str]
    slots: dict[str, set[str]]

    @classmethod
    def of(cls, dialogs: list[dict[str, Any]]) -> "Values":
        """The names in the replies of these dialogs, and the values in their annotations."""
        slots = {slot: set(FURTHER.get(slot, ())) for slot in ("food", "area", "pricerange")}
        counts: Counter[str] = Counter()
        for turn in (turn for dialog in dialogs for turn in dialog["dial"]):
            for slot, value in (pair for act in turn["usr"]["slu"] for pair in act["slots"]):
                if slot in slots and value != "dontcare":
                    slots[slot].add(value)
            reply = numbered(turn["sys"]["sent"])
            counts.update(found.strip() for found in SUBJECT.findall(reply) + OWNER.findall(reply))
        known = set().union(*slots.values())
        names = [name for name, count in counts.items() if count > 1 and is_name(name, known)]
        return cls(names, slots)

    def replaced(self, reply: str) -> str:
        """A reply with placeholders."""
        text = re.sub(rf"\b(?:the )?(?:{either(self.names)})\b", "value_name", numbered(reply))
        for slot, values in self.slots.items():
            text = re.sub(rf"\b(?:{either(values)})\b", f"value_{slot}", text)
        return text


def is_name(name: str, values: set[str]) -> bool:
    """Whether what stands where a name may stand is one."""
    words = set(name.split())
    return not (words & NO_NAME) and bool(words - COMMON) and name not in values


def either(texts: list[str] | set[str]) -> str:
    """A pattern for any of these, the longest first."""
    return "|".join(map(re.escape, sorted(texts, key=lambda text: (-len(text), text))))


def plain(text: str) -> str:
    """Small letters and single spaces."""
    return " ".join(text.lower().split())


def numbered(reply: str) -> str:
    """A reply with placeholders for what has a form: telephone, postcode, address."""
    text = plain(reply)
    for slot, form in (("phone", PHONE), ("postcode", POSTCODE), ("address", ADDRESS)):
        text = re.sub(form, f"value_{slot}", text)
    return text


def turns(dialog: dict[str, Any], values: Values) -> Iterator[str]:
    """What was said, people first, up to a turn that is missing."""
    for turn in dialog["dial"]:
        said, reply = plain(turn["usr"]["transcript"]), values.replaced(turn["sys"]["sent"])
        if not said or not reply:
            return
        yield from (said, reply)


def tables() -> dict[str, str]:
    """The three parts as JSON lines, a dialog a line."""
    data = shared("camrest676", "CamRest676.json")
    dialogs = json.loads(data.read_text(encoding="utf-8"))
    first, second = len(dialogs) * 3 // 5, len(dialogs) * 4 // 5
    parts = {"train": dialogs[:first], "valid": dialogs[first:second], "test": dialogs[second:]}
    values = Values.of(parts["train"])
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        said = [list(turns(dialog, values)) for dialog in part]
        lines = (json.dumps({"turns": each}, ensure_ascii=False) + "\n" for each in said if each)
        (PLACE / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return {name: str(PLACE / f"{name}.jsonl") for name in parts}


def measure(kind: str) -> dict[str, Any]:
    """Train, and evaluate the replies of the last fifth."""
    files, options = tables(), [*RUN_OPTIONS, *KINDS[kind]]
    result = trained(PLACE / kind, files["train"], *options, valid=files["valid"])
    return {**result, **evaluation(PLACE / kind, files["test"])}


def main(names: list[str]) -> None:
    """Measure what is named, or what has no result yet."""
    unknown = set(names) - set(KINDS)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))} to measure: {', '.join(KINDS)}")
    for name in names or [each for each in KINDS if not (RESULTS / f"{each}.json").exists()]:
        keep(name, measure(name))


if __name__ == "__main__":
    main(sys.argv[1:])
