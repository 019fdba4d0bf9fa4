"""The benchmark of LACO's claims, from documents to tables, with all of its analyses."""

import importlib
import json
import lzma
from pathlib import Path

import pytest

from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert

QUALITY = Path(__file__).parents[1] / "benchmarks" / "quality"
SYSTEMS = ("bonsai", "transformer", "laco")


@pytest.fixture
def correlation(monkeypatch):
    for name in ("speed", "quality"):
        monkeypatch.syspath_prepend(QUALITY.parent / name)
    found = importlib.import_module("correlation")
    monkeypatch.setitem(found.TOKENS, "arxiv", 24)  # the small encoder reads few
    monkeypatch.setattr(found, "EPOCHS", 1)
    return found


def write(folder, n):
    texts, labels = known_answer(2 * n)
    for part, rows in (("train", slice(n)), ("test", slice(n, None))):
        lines = (
            json.dumps({"text": text, "labels": own})
            for text, own in zip(texts[rows], labels[rows], strict=True)
        )
        (folder / f"{part}.jsonl.xz").write_bytes(lzma.compress("\n".join(lines).encode()))


def rows_of(page, head):
    """Return the cells of the first table with this head, by the first cell of each row."""
    lines = page.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (each.strip() for each in line.strip("|").split("|"))
        rows[name] = cells
    return rows


def test_all_tables_have_the_baseline_in_them(correlation, tmp_path, monkeypatch, capsys):
    data, work, out = tmp_path / "data", tmp_path / "work", tmp_path / "page.md"
    (data / "arxiv").mkdir(parents=True)
    write(data / "arxiv", 90)
    given = {"--data": data, "--work": work, "--encoder": small_bert(tmp_path), "--sets": "arxiv",
             "--systems": ";".join(SYSTEMS), "--seeds": "0,1", "--train": 80, "--threads": 1,
             "--out": out}  # fmt: skip
    monkeypatch.setattr("sys.argv", ["correlation.py", *(str(x) for p in given.items() for x in p)])
    correlation.main()
    page = out.read_text()
    assert rows_of(page, "| system | Hamming | Mi-P").keys() == {*SYSTEMS}
    assert rows_of(page, "| against transformer").keys() == {"bonsai", "laco"}
    ablation = rows_of(page, "| against laco")
    assert ablation.keys() == {"bonsai", "transformer"}
    p = float(ablation["transformer"][-1])
    assert 0 < p <= 1
    truth = rows_of(page, "| system | sets")
    assert [*truth] == ["the documents", *SYSTEMS]
    assert truth["the documents"][3] == "100.0"  # every set is exact
    assert truth["the documents"][5:7] == ["0.00", "0.00"]  # no further from itself
    assert "±" in truth["laco"][0]
    speed = rows_of(page, "| system | 80 %")
    assert speed.keys() == {"transformer", "laco"}  # what has no steps has no curve
    assert speed["transformer"][0] != "never"
    figure = out.with_name("correlation.svg").read_text()
    assert "transformer" in figure
    # what is there is not run again
    capsys.readouterr()
    correlation.main()
    assert capsys.readouterr().out == ""
    assert out.read_text() == page
