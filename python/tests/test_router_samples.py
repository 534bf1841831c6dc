"""Each sample configuration with its traffic table: flows have the results computed by hand, or it is refused."""

from pathlib import Path

import pytest
from judging import check
from samples_mqc import MQC
from samples_tc import TC

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "crates/router/tests"


def text(language, name):
    """Return the text of a sample."""
    if name == "reference-v":
        return (ROOT / "docs/examples/edge-v.txt").read_text()
    return (FOLDER / language / f"{name}.{'txt' if language == 'mqc' else 'sh'}").read_text()


CASES = [
    pytest.param(language, name, case, id=f"{language}-{name}" + (f"-{index}" if index else ""))
    for language, samples in (("mqc", MQC), ("tc", TC))
    for name, cases in samples.items()
    for index, case in enumerate(cases)
]


@pytest.mark.parametrize(("language", "name", "case"), CASES)
def test_flows_behind_a_sample_have_the_results_computed_by_hand(language, name, case):
    check(language, text(language, name), case)


def test_every_sample_has_a_traffic_table():
    for language, samples in (("mqc", MQC), ("tc", TC)):
        assert {path.stem for path in (FOLDER / language).glob("*.expected")} == set(samples)
    assert len(MQC) + len(TC) == 91
