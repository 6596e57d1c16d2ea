"""Builds a group of the engine's units into one object file: `python -m simulator.machine.compiled.build
GROUP FILE`.

numba translates each function of the group to LLVM's language, without optimising it; everything is then
linked into one module, in which only the units are visible, and optimised once. Left to itself numba
optimises each function together with all that it calls, again at each level of calls, and writes machine
code for each.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

OPTIMISATION = 3


def _lay_numba_bare() -> None:
    """Keep numba from optimising and loading what is only linked into a group."""
    from numba.core import codegen, cpu, types

    library: Any = codegen.CPUCodeLibrary
    for name in ("_optimize_functions", "finalize"):
        if not hasattr(library, name):
            raise RuntimeError(f"this numba has no {name}")

    def leave(*_: Any) -> None:
        return None

    def close(self: Any) -> None:
        self._finalized = True

    library._optimize_functions = leave  # noqa: SLF001 (what numba has no option for)
    library.finalize = close
    # Dispatchers know a function by its entry point for Python, which nobody calls: any unique one will do.
    cpu.CPUContext.get_executable = lambda *_: [].append  # type: ignore[method-assign]
    # The types of records are written out again and again, with hundreds of fields.
    types.Record.__repr__ = functools.cache(types.Record.__repr__)  # type: ignore[method-assign]


def _collect(library: Any, seen: dict[int, Any]) -> None:
    """Add a library and all that it calls."""
    if id(library) not in seen:
        seen[id(library)] = library
        for other in library._linking_libraries:  # noqa: SLF001
            _collect(other, seen)


def _exported(name: str, mangled: str) -> str:
    """A function of three integers that calls one of numba's."""
    return f"""
declare i32 @"{mangled}"(ptr, ptr, i64, i64, i64)
define i64 @{name}(i64 %here, i64 %a, i64 %b) {{
  %result = alloca i64
  %exception = alloca ptr
  %status = call i32 @"{mangled}"(ptr %result, ptr %exception, i64 %here, i64 %a, i64 %b)
  %value = load i64, ptr %result
  ret i64 %value
}}
"""


def build(group: str) -> bytes:
    """The object file of a group."""
    import llvmlite.binding as ll
    from numba import njit, types

    from simulator.machine.compiled import numba_names, units

    _lay_numba_bare()
    whole = types.int64
    functions = units.functions(group)
    from hwmodels.rule import listed_rules

    for function in listed_rules().values():
        numba_names.rule(function)
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    machine = ll.Target.from_default_triple().create_target_machine(
        cpu=ll.get_host_cpu_name(),
        features=ll.get_host_cpu_features().flatten(),
        opt=OPTIMISATION,
        reloc="static" if ll.Target.from_default_triple().name.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )
    libraries: dict[int, Any] = {}
    wrappers = []
    for name, function in functions.items():
        dispatcher: Any = njit(**numba_names.OPTIONS)(function)
        dispatcher.compile(whole(whole, whole, whole))
        (result,) = dispatcher.overloads.values()
        wrappers.append(_exported(name, result.fndesc.llvm_func_name))
        _collect(result.library, libraries)
    module = ll.parse_assembly("")
    for library in libraries.values():
        part = library._final_module  # noqa: SLF001
        for one in part.functions:
            if not one.is_declaration and one.linkage == ll.Linkage.external:
                one.linkage = "weak_odr"
        module.link_in(part)
    for text in wrappers:
        module.link_in(ll.parse_assembly(text))
    for one in module.functions:
        if not one.is_declaration and one.name not in functions:
            one.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = ll.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = ll.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    return bytes(machine.emit_object(module))


def main(arguments: list[str]) -> int:
    """Build a group into a file, which appears whole or not at all."""
    group, place = arguments
    made = build(group)
    part = Path(f"{place}.{os.getpid()}")
    part.write_bytes(made)
    part.replace(place)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
