"""No file crashes a reader, hangs it, or takes much memory: 2,000 damaged ones a reader in every run, 100,000
in the long tests, and every truncation.
"""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import truncations
from tests.fuzz.judge import BYTES, damaged_file, judge, peak_bytes
from tests.fuzz.readers import READERS

CASES, LONG_CASES = 2000, 100_000
CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def try_many(name, folder, cases):
    reader = READERS[name]
    judge(reader, reader.seeds()[0], folder)  # what reading needs anyway (libraries, tables) is loaded
    before = peak_bytes()

    @settings(max_examples=cases, suppress_health_check=CALM, deadline=None)
    @given(dice=st.randoms(use_true_random=False))
    def many(dice):
        judge(reader, damaged_file(reader, dice), folder)

    many()
    assert peak_bytes() - before < BYTES


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name, folder):
    try_many(name, folder, CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_more_damaged_files(name, folder, fraction: Fraction):
    try_many(name, folder, max(1, int(LONG_CASES * fraction)))


@pytest.mark.parametrize("name", READERS)
def test_every_truncation(name, folder):
    reader = READERS[name]
    for seed in reader.seeds()[:2]:
        for end in truncations(seed):
            judge(reader, reader.packed[0](seed[:end], seed), folder)


@pytest.mark.parametrize("name", READERS)
def test_sound_files_are_read(name, folder):
    reader = READERS[name]
    for seed in reader.seeds():
        data = seed if name != "traceg-xz" and "gzip" not in name else reader.packed[0](seed, seed)
        assert judge(reader, data, folder), "refused"


@pytest.mark.parametrize("name", READERS)
def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(name, folder):
    reader = READERS[name]
    for seed in reader.seeds()[:2]:
        judge(reader, reader.packed[0](seed.replace(b"\n", b"\r\n"), seed), folder)
        judge(reader, reader.packed[0](b"\xef\xbb\xbf" + seed, seed), folder)


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_refused(name, folder):
    reader = READERS[name]
    place = folder / "elsewhere"
    place.mkdir(exist_ok=True)
    (place / reader.file_name).unlink(missing_ok=True)
    (place / reader.file_name).mkdir()
    from hwmodels.errors import InputError

    with pytest.raises((InputError, OSError)):
        reader.read(place / reader.file_name)
    (place / reader.file_name).rmdir()
