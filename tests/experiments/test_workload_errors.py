"""A mistake in a workload is named by file and item, before anything is replayed or written."""

from pathlib import Path

import pytest

from experiments.config import load_config
from experiments.run import run
from hwmodels.errors import InputError

ABOVE = "name: x\ngpu: [v100-sxm2-16gb]\nset: {gpu.scale: 1/16}\n"
RELU = "{op: Relu, inputs: [x], output: y, shape: [1, 8, 8, 8]}"


def refusal(path: Path, text: str) -> str:
    path.write_text(ABOVE + text)
    with pytest.raises(InputError) as caught:
        run(load_config(str(path)), ready=lambda: pytest.fail("came too far"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("{op: Relu, inputs: [y], output: z}", "operators[1]: lacks shape"),
        ("{op: Relu, inputs: [y], output: z, shape: [1], shap: 1}", "operators[1]: unknown key 'shap'"),
        ("{op: Relu, inputs: y, output: z, shape: [1]}", "operators[1].inputs: 'y' is no list of names"),
        ("{op: Relu, inputs: 7, output: z, shape: [1]}", "operators[1].inputs: '7' is no list of names"),
        ("{op: [Relu], inputs: [y], output: z, shape: [1]}", "operators[1].op: "),
        ("{op: Relu, inputs: [y], output: [z], shape: [1]}", "operators[1].output: "),
        ("{op: Relu, inputs: [y], output: z, shape: [true]}", "operators[1].shape: shape [True] is no list"),
        ("{op: Relu, inputs: [y], output: z, shape: [1], name: 3}", "operators[1].name: '3' is no name"),
        ("{op: Relu, inputs: [y], output: z, shape: [1], attributes: 3}", "operators[1].attributes: '3'"),
        ("{op: Relu, inputs: [y], output: z, shape: [1], input_shapes: [3]}", "operators[1].input_shapes"),
        ("{op: Relu, inputs: [y], output: y, shape: [1, 8, 8, 8]}", "operators: n0 and n1 both write y"),
        ("{op: Relu, inputs: [z], output: z, shape: [1]}", "operators: operator n1 waits for itself"),
        (
            "{op: Conv, inputs: [y, w], output: z, shape: [1, 8, 8, 8], input_shapes: {w: [8, 8, 3, 3]}}",
            "operators[1]: output shape [1, 8, 8, 8] is not that of the Conv; it is [1, 8, 6, 6]",
        ),
    ],
)
def test_an_operator_list_is_refused_at_its_place(tmp_path: Path, item: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    text = refusal(path, f"workload:\n  operators:\n    - {RELU}\n    - {item}\n")
    assert text.startswith(f"{path}:workload.{said}")
    assert "\n" not in text


def test_a_part_that_is_not_there_names_the_list(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = refusal(path, f"workload:\n  first: n7\n  operators:\n    - {RELU}\n")
    assert text.startswith(f"{path}:workload.operators")
    assert "n7" in text
