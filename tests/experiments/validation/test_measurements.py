"""A table of measurements is read strictly: what is wrong with it is one error with file and line."""

import pytest

from experiments.validation.measurements import PUBLISHED, read_file
from hwmodels.errors import InputError

HEADER = "gpu,quantity,value,unit,conditions,source,confidence\n"
ROW = "V100 PCIe,lat.l1_hit,28,cycles,random,paper,high\n"


def written(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_published_rows_are_all_there():
    rows = read_file(PUBLISHED)
    assert len(rows) == 630
    assert sum(row.value is None for row in rows) == 1
    ranges = [row for row in rows if row.quantity == "bw.reduction_large"]
    assert ranges[0].value == (849 + 865) / 2


def test_columns_in_any_order_and_more_of_them(tmp_path):
    text = "unit,note,gpu,value,quantity,confidence,conditions,source\ncycles,x,V100,28,lat.l1_hit,high,a,b\n"
    (row,) = read_file(written(tmp_path, text))
    assert (row.gpu, row.value, row.unit, row.conditions) == ("V100", 28.0, "cycles", "a")
    assert row.place.endswith("rows.csv:2")


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        (HEADER.replace("unit,", "") + ROW, "rows.csv:1", "the column unit is missing"),
        (HEADER + ROW + ROW.replace("28", "nan"), "rows.csv:3", "the value is nan"),
        (HEADER + ROW.replace("28", "inf"), "rows.csv:2", "the value is inf"),
        (HEADER + ROW.replace("28", ""), "rows.csv:2", "'' is no number"),
        (HEADER + ROW.replace("28", "0"), "rows.csv:2", "the value is 0"),
        (HEADER + ROW.replace("cycles", "parsecs"), "rows.csv:2", "unknown unit 'parsecs'"),
        (HEADER + ROW.replace("high", "certain"), "rows.csv:2", "confidence 'certain'"),
        (HEADER + ROW + "V100,lat.l2_hit\n", "rows.csv:3", "2 cells under 7 columns"),
        (HEADER.encode() + ROW.encode() + b"V100\xff,lat.a,1,cycles,,,high\n", "rows.csv:3", "not UTF-8"),
        (HEADER + '"V100,lat.a,1\n', "rows.csv:2", "no CSV"),
        ("", "rows.csv:1", "the column gpu is missing"),
    ],
)
def test_bad_tables(tmp_path, text, place, problem):
    with pytest.raises(InputError) as caught:
        read_file(written(tmp_path, text))
    assert caught.value.place.endswith(place)
    assert problem in caught.value.problem


def test_units_of_specifications_are_words(tmp_path):
    (row,) = read_file(written(tmp_path, HEADER + "V100,spec.banks,16,banks of gold,,,high\n"))
    assert row.unit == "banks of gold"
