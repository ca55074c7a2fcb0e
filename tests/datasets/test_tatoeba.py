"""The French-English cut, and the fetching of its archive from an index on the loopback."""

import gzip
import hashlib
import io
import itertools
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seqloom.datasets.archive import Archive, cache_folder
from seqloom.datasets.package_indexes import Indexes, pip_indexes
from seqloom.datasets.tatoeba import SentencePair, filter_pairs, tatoeba, tokens
from seqloom.errors import DataError

NOUNS = ("cat", "dog", "bird", "fish", "horse", "tree", "house", "river")
VERBS = ("sees", "likes", "hears", "finds")
FILE = "nmt-0.0.6.tar.gz"


def made_up() -> list[SentencePair]:
    """A few hundred sentences; the French ones are the English ones spelt backwards."""
    rows = []
    for number, (one, verb, two) in enumerate(itertools.product(NOUNS, VERBS, NOUNS)):
        english = f"The {one} {verb} the {two}."
        french = " ".join(word[::-1] for word in english.rstrip(".").split()) + "\u202f!"
        rows.append(SentencePair(french, english, f"#{number} (Author{number % 7})"))
    return rows


def packed(rows: list[SentencePair]) -> bytes:
    """A source distribution with the table in a zip, as the real one has it."""
    table = "".join(f"{row.english}\t{row.french}\t{row.credit}\n" for row in rows)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr(zipfile.ZipInfo("fra.txt"), table)
    outer = io.BytesIO()
    with tarfile.open(fileobj=outer, mode="w") as tar:
        member = tarfile.TarInfo("nmt-0.0.6/data/fra-eng.zip")
        member.size = len(inner.getvalue())
        tar.addfile(member, io.BytesIO(inner.getvalue()))
    return gzip.compress(outer.getvalue(), mtime=0)


def described(content: bytes) -> Archive:
    digest = hashlib.sha256(content).hexdigest()
    return Archive("nmt", FILE, digest, len(content), "made up, free to use")


@dataclass
class Index:
    """A package index on the loopback that counts how often its one file was asked for."""

    content: bytes
    address: str = ""
    downloads: int = 0
    messages: list[str] = field(default_factory=list)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    state = Index(packed(made_up()))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages = {
                "/index/nmt/": ("text/html", f'<a href="/files/{FILE}">{FILE}</a>'.encode()),
                f"/files/{FILE}": ("application/octet-stream", state.content),
            }
            kind, body = pages.get(self.path, ("text/plain", b""))
            state.downloads += self.path.startswith("/files/")
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}/index"
    use_only(state.address, monkeypatch)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def use_only(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", address)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)


def test_fetched_once_and_announced_with_size_and_licence(index: Index, tmp_path: Path) -> None:
    archive = described(index.content)
    splits = tatoeba(tmp_path, archive=archive, announce=index.messages.append)
    assert splits == filter_pairs(made_up())
    assert tatoeba(tmp_path, archive=archive, announce=index.messages.append) == splits
    assert index.downloads == 1
    assert len(index.messages) == 1
    assert all(part in index.messages[0] for part in (FILE, "MB", "made up, free to use"))
    assert [path.name for path in tmp_path.iterdir()] == [f"{archive.sha256}-{FILE}"]


def test_a_damaged_copy_is_fetched_again(index: Index, tmp_path: Path) -> None:
    archive = described(index.content)
    splits = tatoeba(tmp_path, archive=archive, announce=index.messages.append)
    (copy,) = tmp_path.iterdir()
    copy.write_bytes(copy.read_bytes()[:-1] + b"?")
    assert tatoeba(tmp_path, archive=archive, announce=index.messages.append) == splits
    assert index.downloads == 2
    assert copy.read_bytes() == index.content
    assert any("damaged" in message for message in index.messages)


@pytest.mark.parametrize("change", ["other content", "too large", "cut off"])
def test_another_file_is_refused_and_not_kept(index: Index, tmp_path: Path, change: str) -> None:
    archive = described(index.content)
    index.content = {
        "other content": index.content[:-1] + b"?",
        "too large": index.content + b"?",
        "cut off": index.content[:-1],
    }[change]
    with pytest.raises(DataError, match=r"sha256 is not|larger than"):
        tatoeba(tmp_path, archive=archive, announce=index.messages.append)
    assert list(tmp_path.iterdir()) == []


def test_an_index_without_the_file_says_so(index: Index, tmp_path: Path) -> None:
    archive = described(index.content)
    for other in (replace(archive, project="absent"), replace(archive, file="nmt-9.tar.gz")):
        with pytest.raises(DataError, match="does not have it"):
            tatoeba(tmp_path, archive=other, announce=index.messages.append)


def test_the_extra_index_is_asked_next(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/index")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere {index.address}")
    archive = described(index.content)
    assert tatoeba(tmp_path, archive=archive, announce=index.messages.append).train


def test_an_unreachable_index_is_one_clear_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo falls back on this; a password in the address is not repeated."""
    use_only("http://someone:secret@127.0.0.1:9/index", monkeypatch)
    started = time.monotonic()
    with pytest.raises(DataError, match=r"127\.0\.0\.1 cannot be reached") as caught:
        tatoeba(tmp_path)
    assert time.monotonic() - started < 5
    assert "PIP_INDEX_URL" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_names_the_cure(index: Index, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(DataError, match="XDG_CACHE_HOME"):
        tatoeba(blocked, archive=described(index.content), announce=index.messages.append)


@pytest.mark.parametrize(
    "content",
    [b"no archive", packed([]), gzip.compress(b"x" * 2000)],
    ids=["no archive", "empty", "not tar"],
)
def test_an_archive_of_another_kind_is_a_data_error(
    index: Index, tmp_path: Path, content: bytes
) -> None:
    index.content = content
    with pytest.raises(DataError):
        tatoeba(tmp_path, archive=described(content), announce=index.messages.append)


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seqloom"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "seqloom"


def test_pip_configuration_is_followed(tmp_path: Path) -> None:
    """A variable wins over a file; no-index means that nobody is asked."""
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://one.example/index\ncert = /some/bundle\n"
        "extra-index-url =\n  https://two.example/index\n  file:///three\n"
    )
    settings = {"PIP_CONFIG_FILE": str(file)}
    both = ("https://one.example/index", "https://two.example/index")
    assert pip_indexes(settings) == Indexes(both, "/some/bundle")
    assert pip_indexes({**settings, "PIP_INDEX_URL": "https://own.example"}).addresses[0] == (
        "https://own.example"
    )
    assert pip_indexes({**settings, "PIP_NO_INDEX": "1"}).addresses == ()
    assert pip_indexes({"PIP_CONFIG_FILE": "/dev/null"}).addresses == (None,)
    file.write_text("not an ini file")
    assert pip_indexes({**settings, "PIP_INDEX_URL": both[0]}).addresses[0] == both[0]


def test_tokens_are_words_marks_and_elisions() -> None:
    """S10 writes l' as one token."""
    assert tokens("nous aimons l'apprentissage, non ?") == (
        *("nous", "aimons", "l'", "apprentissage", ",", "non", "?"),
    )


def test_no_english_and_no_french_sentence_is_in_two_parts() -> None:
    rows = made_up()
    louder = [row._replace(french="ah, " + row.french, english=row.english.upper()) for row in rows]
    splits = filter_pairs([*rows, *louder])
    parts = (splits.train, splits.valid, splits.test)
    assert all(parts)
    assert sum(map(len, parts)) == 2 * len(rows)
    for one, two in itertools.combinations(parts, 2):
        assert {english for _, english in one}.isdisjoint({english for _, english in two})
        assert {french for french, _ in one}.isdisjoint({french for french, _ in two})


def test_the_vocabulary_is_closed_and_the_length_bounded() -> None:
    rows = [*made_up(), SentencePair("un mot rare !", "A rare word.", "#1")]
    long = SentencePair("eht tac !", "The cat sees the dog the cat sees.", "#2")
    splits = filter_pairs([*rows, long], words=12, longest=6)
    kept = [*splits.train, *splits.valid, *splits.test]
    assert kept
    for side in (0, 1):
        assert len({token for pair in kept for token in tokens(pair[side])}) <= 12
    assert max(len(tokens(english)) for _, english in kept) <= 6
    assert "un mot rare !" not in dict(kept)
    assert "eht tac !" not in dict(kept)


def test_one_pair_for_a_french_sentence_and_its_credit_is_kept() -> None:
    """The first pair stands; spacing, case and the form of an apostrophe do not make another."""
    splits = filter_pairs(
        [
            SentencePair("C’est\u00a0là\u202f!", "It's there!", "#1 (A)"),
            SentencePair("c'est là!", "That's there!", "#2 (B)"),
        ]
    )
    assert [*splits.train, *splits.valid, *splits.test] == [("c'est là !", "it's there!")]
    assert splits.credits == {"c'est là !": "#1 (A)"}
    assert "CC BY 2.0 FR" in splits.attribution


@pytest.mark.shared_data
def test_the_real_cut_is_like_the_independent_one(shared_data: Path) -> None:
    """Its pairs were chosen by other code from the same table; most are the same."""
    folder = shared_data / "tatoeba_fra_eng"
    theirs = [
        SentencePair(*line.split("\t"))
        for name in ("train", "dev", "test")
        for line in (folder / f"small_top500_{name}.tsv").read_text("utf-8").splitlines()
    ]
    splits = filter_pairs(theirs)
    ours = {*splits.train, *splits.valid, *splits.test}
    assert len(ours) > 0.95 * len(theirs)
    assert 0.03 < len(splits.test) / len(ours) < 0.05
