"""`labelgrove split`: files are divided, and keep their columns and form."""

import csv
import gzip
import json

import pyarrow.parquet as pq
import pytest

from command_line import called, fails

LABELS = ["a", "b", "c", "rare"]


def _rows(n=100):
    return [
        {
            "year": 2000 + i // 10,
            "title": f'Title "{i}", first\nsecond line; of group {i // 4}',
            "subjects": "rare|a" if i % 25 == 0 else LABELS[i % 3],
            "source": f"s{i // 4}",
        }
        for i in range(n)
    ]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "docs.csv"
    with path.open("w", newline="", encoding="windows-1252") as file:
        writer = csv.DictWriter(file, ["year", "title", "subjects", "source"], delimiter=";")
        writer.writeheader()
        writer.writerows({**row, "title": row["title"] + " ü"} for row in _rows())
    return path


READ = ("--text-field", "title", "--labels-field", "subjects", "-q")


def _read(path, encoding="windows-1252"):
    with path.open(newline="", encoding=encoding) as file:
        return list(csv.DictReader(file, delimiter=";"))


def test_a_table_keeps_columns_separator_encoding_and_every_row(table, tmp_path):
    out = tmp_path / "parts"
    done = called("split", table, "--out", out, *READ, "--json", tmp_path / "s.json")
    train, test = _read(out / "train.csv"), _read(out / "test.csv")
    whole = _read(table)
    assert list(train[0]) == ["year", "title", "subjects", "source"]
    assert sorted(row["title"] for row in [*train, *test]) == sorted(r["title"] for r in whole)
    order = [row["title"] for row in whole if row in test]
    assert [row["title"] for row in test] == order, "rows stay in their order"
    assert 18 <= len(test) <= 22
    assert sum("rare" in row["subjects"] for row in test) == 1, "each label by its share"
    record = json.loads((tmp_path / "s.json").read_text())
    assert record["test"]["documents"] == len(test)
    assert record["test"]["labels_only_here"] == 0
    assert f"{out / 'test.csv'}: {len(test)} documents, 4 labels" in done.stdout
    assert "is there already" in fails("split", table, "--out", out, *READ)
    called("split", table, "--out", out, *READ, "--overwrite", "--seed", "7")
    assert _read(out / "test.csv") != test


def test_groups_and_time(table, tmp_path):
    called("split", table, "--out", tmp_path / "g", "--group-field", "source", *READ)
    sides = [
        {row["source"] for row in _read(tmp_path / "g" / f"{p}.csv")} for p in ("train", "test")
    ]
    assert sides[0].isdisjoint(sides[1])
    assert len(sides[1]) == 5
    called("split", table, "--out", tmp_path / "t", "--time-field", "year", *READ)
    assert {row["year"] for row in _read(tmp_path / "t" / "test.csv")} == {"2008", "2009"}


def test_near_copies_stay_on_one_side_in_compressed_json_lines(tmp_path):
    words = [f"word{i}" for i in range(2000)]
    rows = []
    for i in range(120):
        text = " ".join(words[(i // 2 * 37 + 11 * j) % 2000] for j in range(60))
        rows.append({"text": text + (" end" if i % 2 else ""), "labels": ["x"], "own": [i, None]})
    path = tmp_path / "docs.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    called("split", path, "--group", "near", "--out", tmp_path / "parts", "-q")
    sides = []
    for part in ("train", "test"):
        with gzip.open(tmp_path / "parts" / f"{part}.jsonl.gz", "rt") as file:
            found = [json.loads(line) for line in file]
        assert all(row in rows for row in found), "also fields that nobody reads"
        sides.append({row["own"][0] // 2 for row in found})
    assert sides[0].isdisjoint(sides[1])
    assert 8 <= len(sides[1]) <= 16
    done = called("check", *(tmp_path / "parts" / f"{p}.jsonl.gz" for p in ("train", "test")), "-q")
    assert "nearly the same" not in done.stdout


def test_several_files_are_one_and_parquet_stays_parquet(tmp_path):
    import pyarrow as pa

    rows = [{"text": f"text {i}", "labels": ["x", "y"][: 1 + i % 2], "n": i} for i in range(40)]
    for name, part in (("one", rows[:25]), ("two", rows[25:])):
        pq.write_table(pa.Table.from_pylist(part), tmp_path / f"{name}.parquet")
    files = (tmp_path / "one.parquet", tmp_path / "two.parquet")
    called("split", *files, "--by", "random", "--share", "0.25", "--out", tmp_path / "parts", "-q")
    train, test = (pq.read_table(tmp_path / "parts" / f"{p}.parquet") for p in ("train", "test"))
    assert train.schema.types == pq.read_table(files[0]).schema.types
    assert len(test) == 10
    assert sorted([*train["n"].to_pylist(), *test["n"].to_pylist()]) == list(range(40))


def test_by_text_a_document_stays_on_its_side_when_others_come(tmp_path):
    rows = [json.dumps({"text": f"text {i}", "labels": ["x"]}) + "\n" for i in range(300)]
    sides = {}
    for n in (200, 300):
        (tmp_path / "d.jsonl").write_text("".join(rows[:n]))
        called("split", tmp_path / "d.jsonl", "--by", "text", "--out", tmp_path / str(n), "-q")
        sides[n] = (tmp_path / str(n) / "test.jsonl").read_text()
    assert sides[300].startswith(sides[200])
    assert 0 < len(sides[200]) < len(sides[300])


def test_what_makes_no_sense_is_refused_before_anything_is_written(table, tmp_path):
    out = ("--out", tmp_path / "parts", *READ)
    assert "between 0 and 1" in fails("split", table, "--share", "1", *out)
    assert "labels, random, text" in fails("split", table, "--by", "year", *out)
    assert "--group-field" in fails("split", table, "--group", "source", *out)
    assert "--time-field or --by" in fails(
        "split", table, "--time-field", "y", "--by", "random", *out
    )
    assert "no field 'day'; its fields are year" in fails(
        "split", table, "--time-field", "day", *out
    )
    other = tmp_path / "other.csv"
    other.write_text("title;subjects\na;b\n")
    assert "other columns" in fails("split", table, other, *out)
    assert not (tmp_path / "parts").exists()


def test_a_form_without_columns_becomes_json_lines_with_labels(tmp_path):
    lines = [f"text {i}\t<http://x/{'ab'[i % 2]}>\n" for i in range(20)]
    (tmp_path / "docs.tsv").write_text("".join(lines))
    called("split", tmp_path / "docs.tsv", "--out", tmp_path / "parts", "-q")
    rows = []
    for part in ("train", "test"):
        rows += map(json.loads, (tmp_path / "parts" / f"{part}.jsonl").read_text().splitlines())
    assert {row["text"]: row["labels"] for row in rows} == {
        f"text {i}": [f"http://x/{'ab'[i % 2]}"] for i in range(20)
    }
    (tmp_path / "features.txt").write_text("4 4 2\n" + "0 0:1\n1 2:1\n" * 2)
    error = fails("split", tmp_path / "features.txt", "--out", tmp_path / "f", "-q")
    assert "features instead of texts" in error


def test_no_file_is_empty_and_no_source_is_replaced(tmp_path):
    (tmp_path / "one.csv").write_text("text,labels\na,x\n")
    for by in ("labels", "text"):
        error = fails("split", tmp_path / "one.csv", "--by", by, "--out", tmp_path / "parts", "-q")
        assert "file would be empty (documents: 1)" in error
    rows = "text,labels\n" + "".join(f"t{i},x\n" for i in range(10))
    for name in ("old", "train"):
        (tmp_path / f"{name}.csv").write_text(rows)
    files = (tmp_path / "old.csv", tmp_path / "train.csv")
    error = fails("split", *files, "--out", tmp_path, "--overwrite", "-q")
    assert "train.csv is what is to be divided" in error
    assert (tmp_path / "train.csv").read_text() == rows


def test_files_in_two_encodings_become_utf_8(tmp_path):
    for name, encoding, text in (("one", "windows-1252", "Müller"), ("two", "utf-8", "Łódź ž")):
        rows = "".join(f"{text} {i},x\n" for i in range(10))
        (tmp_path / f"{name}.csv").write_text(f"text,labels\n{rows}", encoding=encoding)
    files = (tmp_path / "one.csv", tmp_path / "two.csv")
    called("split", *files, "--encoding", "auto", "--out", tmp_path / "parts", "-q")
    parts = [(tmp_path / "parts" / f"{p}.csv").read_text("utf-8-sig") for p in ("train", "test")]
    assert sum(part.count("Łódź ž") for part in parts) == 10
    assert sum(part.count("Müller") for part in parts) == 10
