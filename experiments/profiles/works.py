"""What a memory-bound kernel of PyTorch does, told from its name, its launch and its operator's input shapes.

Four forms are known: vectorised element-wise, unrolled element-wise, element-wise with an offset calculation
for each element (operands that broadcast or are strided), and layer normalisation by rows. Where the trace
recorded no shapes, the elements follow from the launch: whole blocks of so many a thread. Everything else is
refused with a reason.
"""

import re
from dataclasses import dataclass
from math import prod

from experiments.profiles.names import short_name, template_arguments
from experiments.profiles.profile import ProfiledKernel, Shape

ITEM_BYTES = {
    "float": 4,
    "double": 8,
    "int": 4,
    "long": 8,
    "long int": 8,
    "short": 2,
    "short int": 2,
    "bool": 1,
    "char": 1,
    "signed char": 1,
    "unsigned char": 1,
    "c10::half": 2,
    "c10::bfloat16": 2,
}
TYPE_WORD = re.compile(
    r"c10::Half|c10::BFloat16|\b(?:float|double|long|int|short|bool|signed char|unsigned char)\b"
)
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isnan"}
BINARY = re.compile(r"CUDAFunctor_add|CUDAFunctorOnSelf|BinaryFunctor|(?:Add|Mul|Div|Sub)Functor|AddcFunctor")
MAX_PER_THREAD = 32
UNKNOWN_DIMENSIONS = 3
"""Dimensions that a broadcasting operand leaves where no shape is known: planes, channels, images."""


@dataclass(frozen=True, slots=True)
class Work:
    """One kernel's work: `per_thread` elements in vectors of `vector`; `item_bytes` of result and inputs."""

    form: str
    operator: str
    elements: int
    per_thread: int
    vector: int
    item_bytes: tuple[int, ...]
    in_place: bool
    shapes: tuple[Shape, ...] = ()
    """Shapes of the result and of the inputs, where they are known."""
    width: int = 0
    """Elements of a row, for normalisation."""
    from_launch: bool = False
    """Whether the size was worked out from the launch, for want of shapes."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a kernel's work is not known."""

    reason: str


def work_of(kernel: ProfiledKernel) -> Work | Refused:
    """What the kernel does, or why that can't be told."""
    name = short_name(kernel.name)
    form = FORMS.get(name)
    if form is None:
        return Refused("not one of the memory-bound kernels that are known")
    return form(kernel)


def _vectorised(kernel: ProfiledKernel) -> Work | Refused:
    arguments = template_arguments(kernel.name)
    pointers = re.search(r"(?:Array|array)<char\s*\*,\s*(\d+)", kernel.name)
    if len(arguments) < 2 or not arguments[0].isdigit() or pointers is None:
        return Refused("the template arguments are not those of a known version")
    return _elementwise("vectorised", kernel, int(arguments[0]), int(pointers[1]), 4)


def _unrolled(kernel: ProfiledKernel) -> Work | Refused:
    pointers = re.search(r"(?:Array|array)<char\s*\*,\s*(\d+)", kernel.name)
    if pointers is None:
        return Refused("the template arguments are not those of a known version")
    return _elementwise("unrolled", kernel, 1, int(pointers[1]), 4)


def _offsets(kernel: ProfiledKernel) -> Work | Refused:
    arguments = template_arguments(kernel.name)
    if len(arguments) < 3 or not arguments[1].isdigit():
        return Refused("the template arguments are not those of a known version")
    operands = 3 if BINARY.search(kernel.name) else 2
    return _elementwise("offsets", kernel, 1, operands, int(arguments[1]))


def _elementwise(
    form: str, kernel: ProfiledKernel, vector: int, operands: int, per_thread: int
) -> Work | Refused:
    operator = kernel.operator.name.removeprefix("aten::") if kernel.operator else ""
    covered = kernel.blocks * kernel.threads
    inputs = _tensors(kernel)[: operands - 1]
    word = TYPE_WORD.search(" ".join(template_arguments(kernel.name)[1:]))
    named = ITEM_BYTES[word[0].lower()] if word else 4
    result: Shape | None = ()
    shaped = bool(kernel.operator and kernel.operator.shapes and inputs)
    if shaped:
        result = _broadcast([shape for shape, _ in inputs])
        if result is None:
            return Refused("the input shapes do not broadcast")
        elements = prod(result)
        needed = -(-elements // covered)
        if form == "vectorised":
            needed = max(vector, 1 << (needed - 1).bit_length()) if needed else vector
        if (
            elements
            and needed <= MAX_PER_THREAD
            and -(-elements // (kernel.threads * needed)) != kernel.blocks
        ):
            return Refused("the launch does not fit the operator's input shapes")
        per_thread = needed
        sizes = [size for _, size in inputs]
        shapes = (result, *(shape for shape, _ in inputs))
    else:
        elements = covered * max(per_thread, vector)
        per_thread = max(per_thread, vector)
        sizes = [named] * (operands - 1)
        shapes = ()
    if not elements:
        return Refused("no elements")
    if not 1 <= per_thread <= MAX_PER_THREAD:
        return Refused(f"{per_thread} elements a thread, more than one pass")
    plain = operator.rstrip("_")
    result_bytes = 1 if plain in COMPARISONS else (sizes[0] if sizes else named)
    return Work(
        form=form,
        operator=plain,
        elements=elements,
        per_thread=per_thread,
        vector=min(vector, max(1, 16 // max([result_bytes, *sizes]))),
        item_bytes=(result_bytes, *sizes),
        in_place=operator.endswith("_") and operands > 1 and plain not in COMPARISONS,
        shapes=shapes,
        from_launch=not shapes,
    )


def _layer_norm(kernel: ProfiledKernel) -> Work | Refused:
    inputs = _tensors(kernel)
    if not inputs or not inputs[0][0]:
        return Refused("normalisation of an unknown shape: profile with record_shapes=True")
    shape, size = inputs[0]
    width = shape[-1]
    if prod(shape) != kernel.blocks * width:
        return Refused("not one row a block")
    if width % 4 or kernel.threads % 32:
        return Refused("rows that are no whole vectors")
    parameters = [(own, own_size) for own, own_size in inputs[1:] if own == (width,)]
    return Work(
        form="layer norm",
        operator="native_layer_norm",
        elements=prod(shape),
        per_thread=-(-width // kernel.threads),
        vector=4,
        item_bytes=(size, size, *(own_size for _, own_size in parameters)),
        in_place=False,
        shapes=(shape, shape, *(own for own, _ in parameters)),
        width=width,
    )


def _tensors(kernel: ProfiledKernel) -> list[tuple[Shape, int]]:
    """Shapes and bytes an element of the operator's tensor inputs, scalars left out."""
    if kernel.operator is None:
        return []
    pairs = zip(kernel.operator.shapes, kernel.operator.types, strict=False)
    return [(shape, ITEM_BYTES[word.lower()]) for shape, word in pairs if word.lower() in ITEM_BYTES]


def _broadcast(shapes: list[Shape]) -> Shape | None:
    """The shape of the result, None where the shapes do not fit."""
    rank = max(map(len, shapes))
    full = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = tuple(max(sizes) for sizes in zip(*full, strict=True))
    fits = all(size in {1, most} for shape in full for size, most in zip(shape, result, strict=True))
    return result if fits else None


FORMS = {
    "vectorized_elementwise_kernel": _vectorised,
    "unrolled_elementwise_kernel": _unrolled,
    "elementwise_kernel": _offsets,
    "vectorized_layer_norm_kernel": _layer_norm,
}
