"""Card files of a user: what is accepted, what is refused; a hostile file is one line and no harm."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels import Gpu
from hwmodels.card_yaml import MAX_BYTES, parse_mapping
from hwmodels.errors import InputError


@pytest.fixture
def card(tmp_path):
    def write(text: str, name: str = "mine.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_a_bare_number_is_the_users(card) -> None:
    gpu = Gpu.from_card(card("extends: a100-sxm-40gb\nl2: {size_kib: 20480}\ncompute_capability: 8.0\n"))
    assert gpu.l2.size_kib == 20480
    assert gpu.compute_capability == "8.0"
    assert gpu.sources()["l2.size_kib"] == (20480, "KiB", "user", "user")


def test_source_and_confidence_come_from_the_number_or_the_mapping_around(card) -> None:
    text = (
        "extends: a100-sxm-40gb\n"
        "l2:\n  source: own chase\n  confidence: medium\n  access_latency_cycles: 50\n"
        "  miss_latency_cycles: {value: 80, unit: L2 cycles, source: a paper, confidence: high}\n"
    )
    sources = Gpu.from_card(card(text)).sources()
    assert sources["l2.access_latency_cycles"] == (50, "L2 cycles", "own chase", "medium")
    assert sources["l2.miss_latency_cycles"] == (80, "L2 cycles", "a paper", "high")
    assert sources["l2.slices"].source == Gpu.from_card("a100-sxm-40gb").sources()["l2.slices"].source


def test_extends_follows_paths_beside_the_file_and_the_nearest_wins(card) -> None:
    card("extends: v100-sxm2-16gb\nsm_count: 40\nclock_mhz: 1000\n", "parent.yaml")
    gpu = Gpu.from_card(card("extends: parent.yaml\nclock_mhz: 2000\n"))
    assert (gpu.sm_count, gpu.clock_mhz, gpu.sm_period_fs) == (40, 2000, 500_000)


def test_extends_in_a_circle_is_refused(card) -> None:
    card("extends: b.yaml\n", "a.yaml")
    with pytest.raises(InputError, match="extends itself through a circle"):
        Gpu.from_card(card("extends: a.yaml\n", "b.yaml"))
    with pytest.raises(InputError, match="extends itself through a circle"):
        Gpu.from_card(card("extends: c.yaml\n", "c.yaml"))


def test_a_long_chain_is_refused(card) -> None:
    for index in range(9):
        card(f"extends: chain{index + 1}.yaml\n", f"chain{index}.yaml")
    card("extends: a100-sxm-40gb\n", "chain9.yaml")
    with pytest.raises(InputError, match="a chain of more than 8 cards"):
        Gpu.from_card(card("extends: chain1.yaml\n", "chain0.yaml"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a100-sxm-40bg", r"gpu: unknown card 'a100-sxm-40bg'; did you mean 'a100-sxm-40gb'\?"),
        ("base-volta", "unknown card 'base-volta'"),
        ("../x.yaml", "no such card file"),
        ("", "unknown card"),
    ],
)
def test_an_unknown_card_names_the_nearest(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Gpu.from_card(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sm_count: 4\n", "the card lacks '[a-z_.]+' and [0-9]+ more; give them, or start from a card"),
        ("extends: a100\n", "unknown card 'a100'; did you mean 'a100-"),
        ("extends: [a100-sxm-40gb]\n", "is not a card; give one card's name or path"),
        ("extends: a100-sxm-40gb\nl2: 5\n", "mine.yaml:l2: unknown key 'l2'"),
        ("extends: a100-sxm-40gb\nl2: {slises: 5}\n", "mine.yaml:l2.slises: unknown key .*'l2.slices'"),
        (
            "extends: a100-sxm-40gb\nsm_count: -1\n",
            "mine.yaml:sm_count: -1 is outside 1 to 1024 SMs; 1 is the nearest",
        ),
        ("extends: a100-sxm-40gb\nsm_count: 1e99\n", "mine.yaml:sm_count: "),
        (
            "extends: a100-sxm-40gb\nsm_count: {value: 4, units: SMs}\n",
            "unknown key 'units'; did you mean 'unit'",
        ),
        ("extends: a100-sxm-40gb\nsm_count: {unit: SMs}\n", "no value; write {value: "),
        (
            "extends: a100-sxm-40gb\nclock_mhz: {value: 1, unit: GHz}\n",
            "the unit 'GHz' is not the key's; .* in 'MHz'",
        ),
        ("extends: a100-sxm-40gb\nclock_mhz: {value: 1, source: ''}\n", "clock_mhz.source: not a text"),
        ("extends: a100-sxm-40gb\nclock_mhz: {value: 1, confidence: sure}\n", "unknown confidence 'sure'"),
        ("- 1\n", "not a mapping of keys to values"),
        ("", "not a mapping of keys to values"),
        ("a: [1\n", "mine.yaml:[0-9]+: not valid YAML"),
    ],
)
def test_a_wrong_card_file_names_the_place(text: str, message: str, card) -> None:
    with pytest.raises(InputError, match=message) as raised:
        Gpu.from_card(card(text))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system [true]\n", "f:1: the tag .* is not accepted"),
        ("a: !mine 3\n", "f:1: the tag '!mine' is not accepted"),
        ("a: !!binary aGk=\n", "the tag"),
        ("a: &x [1, 1]\nb: [*x, *x]\n", "f:1: anchors and aliases are not accepted"),
        ("b: *x\n", "anchors and aliases are not accepted"),
        ("a: &a {b: *a}\n", "anchors and aliases are not accepted"),
        ("a: 1\na: 2\n", "f:2: the key 'a' stands twice"),
        ("a: {b: 1, b: 2}\n", "the key 'b' stands twice"),
        ("a: .inf\n", "f:1: .inf is not finite"),
        ("a: [.nan]\n", ".nan is not finite"),
        ("a: 1.0e+999\n", "is not finite"),
        ("a: " + "[" * 100_000, "f:1: .*nest"),
        ("a: " + "{a: " * 50 + "1" + "}" * 50, "nested deeper than 10 levels"),
        ("a: " + "9" * 5000, "f: not valid YAML"),
        ("a: 2020-13-45\n", "f: not valid YAML"),
        ("? [1, 2]\n: 3\n", "a key is not a word"),
        ("a: \x07\n", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
    ],
)
def test_hostile_yaml_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        parse_mapping(text, "f")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


def test_a_large_file_is_refused_unread(card) -> None:
    with pytest.raises(InputError, match=f"more than {MAX_BYTES} bytes"):
        Gpu.from_card(card("a: " + "x" * MAX_BYTES))


def test_a_file_that_is_no_text_is_refused(tmp_path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"a: \xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 at byte 3"):
        Gpu.from_card(str(path))
    with pytest.raises(InputError, match="no such card file"):
        Gpu.from_card(str(tmp_path / "folder.yaml"))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="ab:{}[]&*!-? \n\"'|>#%@`,0.", max_size=60))
def test_any_text_is_a_mapping_or_an_input_error(text: str) -> None:
    try:
        outcome: object = parse_mapping(text, "f")
    except InputError as error:
        outcome = str(error).splitlines()
    assert isinstance(outcome, dict) or len(outcome) == 1
