"""Names of strategies, elements, operations, machines and problems in words, as all documents, tables and figures have
them."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Words(dict[str, str]):
    """Names in words; what has none is called by its own name."""

    def __missing__(self, name: str) -> str:
        return name.replace("_", " ")


STRATEGY = Words({
    "patch": "patch",
    "patch_ordered": "patch, reproducible",
    "hybrid": "fastest of four",
    "element_atomic": "element, atomics",
    "element_warp": "warp per element",
    "element_team": "team per element",
    "element_color": "element, colours",
    "node_csr": "gather by node",
    "dof_csr": "gather by entry",
    "two_phase": "via stresses",
    "corner_gather": "via forces",
    "assembled_bsr": "matrix, 3×3",
    "assembled_symmetric": "matrix, upper half",
    "assembled_cusparse": "matrix, cuSPARSE BSR",
    "assembled_csr": "matrix, cuSPARSE CSR",
    "element_only": "no sums",
    "petsc_gamg": "PETSc, GAMG",
    "petsc_boomeramg": "PETSc, BoomerAMG",
})
ELEMENT = {"hex8": "Hex8", "tet4": "Tet4", "tet4_p4": "Tet4, four points", "hex8_naive": "Hex8, direct gradients",
           "tet10": "Tet10", "hex27": "Hex27"}
ELEMENTS = ("hex8", "tet4", "hex27", "tet10")  # in the order of tables and figures that show all
QUADRATIC = ("hex27", "tet10")  # these have figures of their own: with all elements one would be taller than a page
OPERATION = {
    "jacvec": "tangent product",
    "jacvec_elastic": "elastic product",
    "jacvec_full": "full tangents",
    "residual": "residual",
    "diagonal": "diagonal blocks",
    "material": "material update",
}
# Of several operations, solves and meshes.
SEVERAL = {operation: words if words.endswith("s") else f"{words}s" for operation, words in OPERATION.items()} | {
    "solve": "solves", "solve_graph": "solves with graphs"}
# Units of a card, by the columns of profile.csv that say how busy they were.
BUSY = {"level1_busy": "level 1", "level2_busy": "level 2", "memory_busy": "memory", "issue_busy": "issue"}
MESHES = {"box": "boxes", "slender": "slender boxes", "irregular": "irregular meshes", "bracket": "brackets",
          "tube": "tubes", "beam": "beams"}
PRODUCTS = ("jacvec", "jacvec_elastic", "residual")
MATRIX = ("assembled_bsr", "assembled_symmetric", "assembled_cusparse", "assembled_csr")
# Without one of these a comparison may crown the wrong strategy: the fastest of those that store no matrix, the one that
# needs no set-up, and both matrices with blocks of their own.
MAIN = ("patch", "element_atomic", "assembled_bsr", "assembled_symmetric")
BLOCKS = ("assembled_bsr", "assembled_symmetric")  # of these the faster one is "the assembled matrix"
NOT_A_STRATEGY = ("element_only",)
# One call launches its kernel once for each colour, and a profile has one launch: what all of them take together is not
# known, and cells of it are empty.
A_LAUNCH_EACH_COLOUR = ("element_color",)
# It times four strategies at set-up and is one of them: among candidates it would only tie with its choice.
CHOOSES = ("hybrid",)


def several(name: str) -> str:
    """Of operations: tangent products with 1 % of nodes in contact (jacvec_contact0.01)."""
    operation, _, share = name.partition("_contact")
    words = SEVERAL.get(operation, operation)
    return f"{words} with {100 * float(share):g} % of nodes in contact" if share else words


def in_order(strategies: Iterable[str]) -> list[str]:
    """As STRATEGY has them, then those that are new."""
    there = set(strategies)
    return [s for s in STRATEGY if s in there] + sorted(there - set(STRATEGY))


LOADS = {"steps": "load steps", "linear": "one linear solve", "fixed": "fixed iterations"}
PRECONDITION = Words({"multigrid": "multigrid", "block-jacobi": "block-Jacobi", "none": "no preconditioner",
                             "chebyshev": "Chebyshev", "gamg": "GAMG", "boomeramg": "BoomerAMG"})
BY = {"": "", "peer": "peer memory", "nccl": "NCCL"}
JACOBIAN = Words({"tangent": "tangent", "difference": "differences", "elastic": "frozen tangent"})


def problem_words(case: str) -> str:
    """stretched cube, load steps"""
    name, _, load = case.removesuffix("-peer").rpartition("-")
    if name.startswith("box"):
        cells, _, what = name.removeprefix("box").partition("-")
        name = f"{what} cube"
    elif name.startswith("irregular"):
        name = f"{name.rpartition('-')[2]}, irregular"
    elif name.startswith(("tube", "beam")):
        name = name[:4]
    elif name.startswith("bracket") and name[7:].isdigit():
        name = "bracket, refined"
    elif name.startswith(("bracket", "br_")):
        name = "bracket, coarse" if name.endswith("coarse") else "bracket"
    return f"{name}, {LOADS.get(load, load)}"


def jacobian_words(jacobian: str, depth: int) -> str:
    """Behind a preconditioner: ", frozen tangent, Anderson 5"; nothing where that is usual."""
    return (f", {JACOBIAN[jacobian]}" if jacobian != "tangent" else "") + (f", Anderson {depth}" if depth else "")


MAKERS = {"amd": "AMD", "epyc": "EPYC", "intel": "Intel", "xeon": "Xeon"}


def machine(slug: str) -> str:
    """nvidia-h100-80gb-hbm3: H100; amd-epyc-2-cores: AMD EPYC with 2 cores."""
    if slug.startswith("nvidia-"):
        return slug.split("-")[1].upper()
    host = re.fullmatch(r"([a-z-]+)-(\d+-cores)", slug)
    names = [MAKERS[word] for word in host[1].split("-") if word in MAKERS] if host else []
    return f"{' '.join(names)} with {host[2].replace('-', ' ')}" if host and names else slug


# Which elements are plastic, where a share was asked for; and the pattern of a state that was solved.
PATTERNS = {"clustered": "one slab", "scattered": "elements at random", "zones": "a few zones"}
PART = "part"
SHARES_ALIKE = 0.05  # by which two shares may differ that are shown beside each other
