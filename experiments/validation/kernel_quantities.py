"""The grammar of kernels: which replay a `kernel.` row asks for.

A name says what is computed, often for which extent (`N4096`, `65536x1024`), and whether as one kernel
(`fused`, a library of fused kernels) or one by one (`unfused`, `naive`, an eager framework). Conditions give
the other extents and the type. What is measured by events around a call holds some microseconds beside the
kernels; rows that are not long against them are refused, as are eager ones whose kernels are shorter than a
framework needs to issue them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod

from experiments.validation.conditions import bracketed_shape, count_of, type_of, whole
from experiments.validation.graphs import GRAPHS
from experiments.validation.hfuse_shapes import hfuse_request
from experiments.validation.kernel_replays import EAGER, EVENTS, FUSED, GRAPH, LAUNCHES, PROFILER
from experiments.validation.latency_quantities import Answer
from experiments.validation.measurements import Measurement
from experiments.validation.request import FEATURE, OVERHEAD, SHAPE, Refusal, Request, request
from experiments.validation.sgemm_kernels import STEPS
from hwmodels import Gpu

Handler = Callable[[re.Match[str], Measurement, Gpu], Answer]
EVENT_SECONDS, EVENT_SHARE = 5e-6, 0.15
"""Events and the start of a launch add about 5 us to what they are put around."""
ISSUE_SECONDS = 8e-6
"""An eager framework issues an operator no faster than this."""
FIRST_FLASH = "Dao et al. 2022"
"""The paper whose kernel shares out heads only; later ones, and the program here, share out queries too."""
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
ROWS_OF_LIBRARY = {
    "layer_norm": "N",
    "rms_norm": "H",
    "fused_add_rms_norm": "H",
    "softmax": "N",
    "relu_squared": "N",
}
LIBRARY = {
    ("layer_norm", True): ("liger_layer_norm", FUSED),
    ("layer_norm", False): ("layer_norm_twice", FUSED),
    ("rms_norm", True): ("liger_rms_norm", FUSED),
    ("rms_norm", False): ("rms_norm_eager", EAGER),
    ("fused_add_rms_norm", True): ("liger_add_rms_norm", FUSED),
    ("fused_add_rms_norm", False): ("add_rms_norm_eager", EAGER),
    ("softmax", True): ("softmax", FUSED),
    ("softmax", False): ("softmax", FUSED),
    ("relu_squared", True): ("relu_squared", FUSED),
    ("relu_squared", False): ("relu_squared", EAGER),
    ("swiglu", True): ("swiglu", FUSED),
    ("swiglu", False): ("swiglu", EAGER),
}
"""Operator and whether one kernel computes it: the graph, and the strategy. Frameworks have layer
normalisation and softmax as one kernel too."""
OWN_EAGER = {"softmax": "softmax_eager", "layer_norm": "layer_norm_eager"}
SIMPLE = {
    "relu": "relu",
    "add": "add",
    "bias_add": "bias_add",
    "bias_gelu": "bias_gelu",
    "biasgelu": "bias_gelu",
    "softmax": "softmax",
    "layernorm": "layer_norm",
    "layer_norm": "layer_norm",
    "rmsnorm": "rms_norm",
    "rms_norm": "rms_norm",
    "reduce": "row_sum",
    "swiglu": "swiglu",
    "relu_squared": "relu_squared",
    "bias_pass": "bias_add",
    "bias": "bias_add",
}


def kernel_request(row: Measurement, gpu: Gpu) -> Answer:
    """What a `kernel.` row asks for."""
    name = row.quantity.removeprefix("kernel.")
    for pattern, handler in HANDLERS:
        found = re.fullmatch(pattern, name)
        if found:
            return handler(found, row, gpu)
    return Refusal(FEATURE, f"no rule reads {row.quantity}")


def too_short(wanted: Request, value: float) -> Refusal | None:
    """Why an answer can't be compared with a clock on the host's side."""
    parameters = dict(wanted.parameters)
    if wanted.kind != "seconds" or "timer" not in parameters:
        return None
    if parameters["timer"] != EVENTS:
        return None
    operators = len(GRAPHS[str(parameters["graph"])](*map(int, str(parameters["sizes"]).split("x"))))
    each = value / operators
    if parameters["strategy"] == EAGER and operators > 1 and each < ISSUE_SECONDS:
        return Refusal(OVERHEAD, f"{1e6 * each:.1f} us a kernel, less than a framework takes to issue it")
    if value < EVENT_SECONDS / EVENT_SHARE:
        added = f"{1e6 * EVENT_SECONDS:.0f}"
        return Refusal(OVERHEAD, f"{1e6 * value:.1f} us between events that add about {added}")
    return None


def graph(
    name: str, sizes: tuple[int, ...], dtype: str, strategy: str, timer: str, row: Measurement
) -> Answer:
    """The request of a graph: a time, or a rate in the row's own count of bytes."""
    text = "x".join(map(str, sizes))
    family = f"{name} {text} {dtype}" + ("" if strategy == FUSED else ", one by one")
    common = {"graph": name, "sizes": text, "dtype": dtype, "strategy": strategy, "timer": timer}
    if row.unit.endswith("B/s"):
        once = 2 * prod(sizes) * BYTES[dtype]
        return request("graph rate", "bytes/s", family, bytes_once=once, **common)
    return request("graph", "seconds", family, **common)


def library(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """A row of a library of fused kernels, beside the framework's own."""
    operator, how, extent = found["operator"], found["how"], int(found["extent"])
    if "GEMM-bound" in row.conditions or "includes the" in row.conditions:
        return Refusal(FEATURE, "a library's tiles")
    if f"megatron_{operator}" in row.quantity and "megatron" in how:
        return Refusal(FEATURE, "an implementation that is not described")
    rows, dtype = _rows(row.conditions), type_of(row.conditions)
    if rows is None or dtype not in BYTES:
        return Refusal(SHAPE, "the type is not given" if rows else "the number of rows is not given")
    fused = how.startswith("liger")
    if operator == "fused_add_rms_norm" and fused and "add" not in how:
        return graph("add_then_liger_rms_norm", (rows, extent), dtype, EAGER, EVENTS, row)
    if (operator, fused) not in LIBRARY:
        return Refusal(FEATURE, f"no program for {operator}")
    name, strategy = LIBRARY[operator, fused]
    if dtype != "float32" and f"{name}_half" in GRAPHS:
        name = f"{name}_half"
    return graph(name, (rows, extent), dtype, strategy, EVENTS, row)


def _rows(conditions: str) -> int | None:
    """Rows of a batch: M, or a product of sequence and batch."""
    direct = whole(conditions, "M")
    if direct:
        return direct
    parts = [whole(conditions, name) for name in ("B", "bsz", "S", "T")]
    known = [part for part in parts if part]
    return prod(known) if len(known) == 2 else None


def sized(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """A simple kernel with its extents in the name: `relu_3211264`, `reduce_65536x1024`."""
    sizes = tuple(int(one) for one in found["sizes"].split("x"))
    name, dtype = SIMPLE[found["name"]], type_of(row.conditions)
    if dtype not in BYTES:
        return Refusal(SHAPE, "the type is not given")
    wanted = 1 if name in {"relu", "add"} else 2
    if wanted != len(sizes):
        sizes = (prod(sizes),) if wanted == 1 else sizes
    if wanted != len(sizes):
        return Refusal(SHAPE, f"{name} has {wanted} extents")
    return graph(name, sizes, dtype, FUSED, PROFILER, row)


def quick_gelu(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """QuickGelu and its gradient."""
    shape, dtype = bracketed_shape(row.conditions), type_of(row.conditions)
    if shape is None or dtype not in BYTES:
        return Refusal(SHAPE, "shape or type is not given")
    fused = found["how"] == "fused"
    backward = "quick_gelu_backward_fused" if fused else "quick_gelu_backward"
    name = backward if found["way"] == "bwd" else "quick_gelu"
    return graph(name, (prod(shape),), dtype, FUSED if fused else EAGER, PROFILER, row)


def own(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """A kernel of `stallscope measure`: shape and type stand in the conditions; timed over many launches."""
    shape, dtype = bracketed_shape(row.conditions), type_of(row.conditions)
    if shape is None or len(shape) != 2 or dtype not in BYTES:
        return Refusal(SHAPE, "shape or type is not given")
    name, eager = found["name"], found["how"] == "unfused"
    name = OWN_EAGER.get(name, name) if eager else name
    if name not in GRAPHS:
        return Refusal(FEATURE, f"no program for {name}")
    sizes = (prod(shape),) if name in {"relu", "add", "copy", "add_relu"} else shape
    return graph(name, sizes, dtype, EAGER if eager else FUSED, LAUNCHES, row)


def named_rows(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """A kernel whose extents stand in the conditions: `M=4096 N=12672`, `[rows, width]`."""
    name, dtype = SIMPLE[found["name"]], type_of(row.conditions)
    rows = count_of(row.conditions, r"\bM\s*=\s*(\d+)")
    width = count_of(row.conditions, r"\bN\s*=\s*(\d+)")
    shape = bracketed_shape(row.conditions)
    sizes = (rows, width) if rows and width else (prod(shape[:-1]), shape[-1]) if shape else None
    if sizes is None or dtype not in BYTES:
        return Refusal(SHAPE, "shape or type is not given")
    eager = found["how"] in {"naive", "unfused", "eager"}
    if eager and name == "softmax":
        name = "softmax_eager"
    return graph(name, sizes, dtype, EAGER if eager else FUSED, EVENTS, row)


def quantised(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """RMS normalisation with a quantised result, in one kernel or two, by flashinfer's timer of graphs."""
    width = count_of(row.conditions, r"hidden (\d+)")
    if width is None:
        return Refusal(SHAPE, "the width is not given")
    strategy = EAGER if found["how"] == "unfused" else FUSED
    return graph("rms_norm_quantised", (int(found["rows"]), width), "bfloat16", strategy, GRAPH, row)


def bias_softmax(_: re.Match[str], row: Measurement, __: Gpu) -> Answer:
    """How much faster bias and softmax are in one kernel."""
    shape = bracketed_shape(row.conditions)
    if shape is None or len(shape) != 3:
        return Refusal(SHAPE, "no shape of three extents")
    sizes = "x".join(map(str, shape))
    return request(
        "fusion speedup",
        "share",
        f"bias_softmax {sizes}, speed-up",
        graph="bias_softmax",
        sizes=sizes,
        dtype=type_of(row.conditions) or "float16",
        timer=PROFILER,
    )


def attention(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """Attention forward, as one kernel or as products and softmax."""
    if found["way"] != "fwd":
        return Refusal(FEATURE, "no kernels of attention's gradient")
    if found["more"]:
        return Refusal(FEATURE, "attention with masks and dropout")
    batch, heads = count_of(row.conditions, r"batch (\d+)"), count_of(row.conditions, r"(\d+) heads")
    width = count_of(row.conditions, r"(?:head dim|\bd) (\d+)")
    if not (batch and heads and width):
        return Refusal(SHAPE, "batch, heads or width are not given")
    fused = found["how"] == "flash"
    if fused and FIRST_FLASH in row.source:
        return Refusal(FEATURE, "the first FlashAttention: one block for each head")
    sizes = (batch, heads, int(found["length"]), width)
    name = "attention" if fused else "attention_eager"
    return graph(name, sizes, "float16", FUSED if fused else EAGER, EVENTS, row)


def sgemm(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """A step of the ladder from a naive product to a tiled one."""
    step, extent = found["step"], int(found["extent"])
    if step not in STEPS:
        return Refusal(FEATURE, f"no program of the step {step}")
    return request("sgemm", "operations/s", f"SGEMM {extent}, {step}", step=step, extent=extent)


def absent(what: str, reason: str = FEATURE) -> Handler:
    """Something that has no replay."""

    def handler(_: re.Match[str], __: Measurement, ___: Gpu) -> Answer:
        return Refusal(reason, what)

    return handler


def hfuse(found: re.Match[str], row: Measurement, _: Gpu) -> Answer:
    """Kernels that were fused side by side by a source transform, and their parts."""
    return hfuse_request(found["name"], found["registers"], row.conditions)


OPERATORS = "|".join(
    sorted({name for name, _ in LIBRARY} | {"cross_entropy", "geglu", "kl_div"}, key=len, reverse=True)
)
NAMES = "|".join(sorted(SIMPLE, key=len, reverse=True))
HANDLERS: tuple[tuple[str, Handler], ...] = (
    (
        rf"liger\.(?:megatron_)?(?P<operator>{OPERATORS})\.(?P<how>[\w.-]+)_[A-Za-z]+(?P<extent>\d+)",
        library,
    ),
    (r"measure\.(?P<name>[a-z_]+?)(?:_(?P<how>fused|unfused))?", own),
    (r"hfuse\.(?P<name>[\w+]+)\.(?P<registers>\w+)", hfuse),
    (r"quickgelu_(?P<way>fwd|bwd)_(?P<how>fused|unfused)\w*", quick_gelu),
    (rf"(?:\w+\.)?(?P<name>{NAMES})_(?P<sizes>\d+(?:x\d+)*)", sized),
    (r"rmsnorm_(?:then_)?fp8quant_(?P<how>fused|unfused)_M(?P<rows>\d+)", quantised),
    (rf"(?P<name>{NAMES})_(?P<how>naive|fused|unfused|eager|torch|triton)\w*", named_rows),
    (r"biassoftmax_\w*speedup", bias_softmax),
    (
        r"attn_(?P<way>fwdbwd|fwd|bwd)(?P<more>_dropout_mask|_dropout|_mask)?_(?P<how>unfused|flash)_N(?P<length>\d+)",
        attention,
    ),
    (r"attn_\S+", absent("attention with masks and dropout")),
    (r"sgemm(?P<extent>\d+)\.(?P<step>\w+)", sgemm),
    (r"layernorm_bwd_\S+", absent("no kernel of layer normalisation's gradient")),
    (r"(?:layernorm|epilogue|linear|ort)\S*", absent("the kernel's extents", SHAPE)),
    (r"\S*(?:matmul|gemm)\S*", absent("a library's tiles")),
    (r"(?:bert|megakernel|conv_bias_relu|xla)\S*", absent("a whole model")),
)
