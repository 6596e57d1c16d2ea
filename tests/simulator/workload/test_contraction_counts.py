"""What contractions ask for and what their programs do, against closed forms and published numbers; and
every count and byte of their traces against the interpreter's.
"""

from dataclasses import replace

import pytest

from hwmodels.operations import Operation
from simulator.workload.allocate import allocate
from simulator.workload.build import KernelMaker
from simulator.workload.builders.attention_kernel import attention_kernel
from simulator.workload.builders.convolution import convolution_kernel
from simulator.workload.builders.geometry import COLUMNS, Convolution, Tile
from simulator.workload.builders.product import Operand, Product
from simulator.workload.builders.product_kernel import product_kernel
from simulator.workload.groups import groups_for
from simulator.workload.ir import Repeat
from simulator.workload.layout import Layout, Placement
from simulator.workload.legality import convolution_of
from simulator.workload.lower import trace_of
from simulator.workload.onnx_import import import_onnx
from simulator.workload.target import AMPERE, VOLTA
from tests.simulator.workload.movement_support import run, traffic
from tests.simulator.workload.test_attention import setting as attention_setting
from tests.simulator.workload.test_convolution import GROUPED, inputs
from tests.simulator.workload.test_convolution import setting as convolution_setting
from tests.simulator.workload.test_product import setting as product_setting

MULTIPLY_ADDS = {Operation.FFMA: 32, Operation.HMMA_16816_F32: 16 * 8 * 16, Operation.HMMA_884_F32: 256}


def multiply_adds(kernel, operators=(0,)):
    """Multiply-adds that a kernel's whole grid does, whatever tiles are partly empty."""

    def count(body):
        total = 0
        for item in body:
            if isinstance(item, Repeat):
                total += item.trips * count(item.body)
            elif item.operator in operators:
                total += MULTIPLY_ADDS.get(item.operation, 0)
        return total

    x, y, z = kernel.grid
    return count(kernel.body) * x * y * z * kernel.threads // 32


def matrices(product, dtype, turned=(False, False)):
    """Operands of a product that nobody runs."""
    place = Placement()
    m, n, k = product.rows, product.columns, product.depth
    a, b, c = (
        place.place(name, Layout(shape, dtype, "flat"), "input")
        for name, shape in (("a", (m, k)), ("b", (k, n)), ("c", (m, n)))
    )
    left = Operand(a, *((1, m) if turned[0] else (k, 1)))
    right = Operand(b, *((1, n) if turned[1] else (k, 1)))
    return (left, right), Operand(c, n, 1)


def test_alexnets_first_layer_as_a_product_of_its_windows():
    # 64 filters of 11 × 11 × 3 on 55 × 55 pixels of 128 images; the depth of 363 fills 23 tiles of 16.
    product = Product(128 * 55 * 55, 64, 11 * 11 * 3, element_bytes=4)
    kernel = product_kernel("conv1", "n0", product, *matrices(product, "float32"), (), VOLTA)
    assert kernel.grid == (1, 3025, 1)
    assert multiply_adds(kernel) == 9_119_334_400
    shape = Convolution(128, 3, 227, 227, 64, (11, 11), (4, 4), element_bytes=4)
    assert shape.multiply_adds == product.multiply_adds == 128 * 55 * 55 * 64 * 363


def test_resnet_50_asks_for_its_published_multiply_adds():
    graph = import_onnx("light_resnet50", 1, "float16")
    maker = KernelMaker(graph, AMPERE)
    asked = done = 0
    for group in groups_for(graph, "vertical"):
        first = group.operators[0]
        shape, product = convolution_of(graph, first)[0], maker.product(first)
        if shape is None and product is None:
            continue
        asked += shape.multiply_adds if shape else product.rows * product.columns * product.depth
        done += multiply_adds(maker.kernel(group))
    assert asked / 1e9 == pytest.approx(4.09, abs=0.005)
    # What tiles do beyond that is padding: 3 channels to 4, 147 depths to 224, 49 pixels to 64, 1 row to 64.
    assert asked < done < 1.25 * asked


@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 32), (65, 65, 33), (200, 100, 100)])
def test_products_of_tiles(m, n, k, size, target):
    product = Product(m, n, k, (3,), size)
    operands, result = matrices(product, {2: "float16", 4: "float32"}[size], (False, True))
    operands = tuple(replace(one, batch=(0,)) for one in operands)
    kernel = product_kernel("mm", "n0", product, operands, replace(result, batch=(0,)), (), target, Tile(64))
    depth = 64 // size
    tiles = -(-m // 64) * -(-n // COLUMNS) * -(-k // depth)
    assert multiply_adds(kernel) == 3 * tiles * 64 * COLUMNS * depth


def test_traces_count_what_the_interpreter_counts():
    place, arguments, values, _ = product_setting(
        m=66, n=40, k=36, batch=(2,), turned=(False, True), fused=True
    )
    for target in (AMPERE, VOLTA):
        run(product_kernel("mm", "n0", *arguments, target, Tile(64)), place, values, "out")
    place, arguments, values, _ = attention_setting((1, 1), 40, 70, 32)
    run(attention_kernel("flash", "n0", *arguments, AMPERE), place, values, "out")
    shape = GROUPED["two"]
    place, x, w, y, stages = convolution_setting(shape, True)
    for target in (AMPERE, VOLTA):
        kernel = convolution_kernel("conv", "n0", shape, x, w, y, stages, target, Tile(64))
        run(kernel, place, inputs(shape), "out")


def test_whole_products_read_each_tile_once_in_whole_sectors():
    product = Product(128, 64, 64, element_bytes=4)
    operands, result = matrices(product, "float32", (False, True))
    kernel = product_kernel("mm", "n0", product, operands, result, (), VOLTA, Tile(128))
    moved = traffic(trace_of(allocate(kernel)))
    assert moved["LDG"] + moved["STG"] == product.least_bytes
    assert (moved["LDG sectors"] + moved["STG sectors"]) * 32 == product.least_bytes


def test_registers_lie_within_the_quartiles_of_real_products():
    for target in (AMPERE, VOLTA):
        for size, dtype in ((2, "float16"), (4, "float32")):
            for rows in (64, 128):
                product = Product(1024, 1024, 1024, element_bytes=size)
                kernel = product_kernel(
                    "mm", "n0", product, *matrices(product, dtype, (False, True)), (), target, Tile(rows)
                )
                assert 40 <= allocate(kernel).registers_per_thread <= 168
