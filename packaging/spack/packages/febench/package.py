"""Spack recipe: spack repo add packaging/spack && spack install febench +cuda cuda_arch=90"""

import os

from spack.package import *

try:  # Spack 1.0 and newer; before, spack.package has them
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Febench(MakefilePackage, CudaPackage):
    """Compares strategies to assemble finite-element contributions on GPUs and processors: complete solvers for
    small-strain J2 plasticity that differ in the assembly alone."""

    # Built from the checkout that holds this recipe.
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    git = "file://" + root

    license("MIT")

    version("main", branch="main")

    variant("mpi", default=True, description="ranks as processes, on several hosts")
    variant("metis", default=True, description="partitions by METIS")
    variant("nccl", default=True, when="+cuda", description="several GPUs")
    variant("benchmark", default=True, description="the program kernels")
    variant("petsc", default=False, when="+mpi", description="the program peers: PETSc and hypre, with +cuda on GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake@4.2:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openblas")
    depends_on("jansson")
    depends_on("muparser")
    depends_on("zlib-api")
    depends_on("superlu@5:")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("nccl", when="+nccl")
    depends_on("mpi", when="+mpi")
    depends_on("metis@5:", when="+metis")
    depends_on("benchmark@1.6:", when="+benchmark")
    depends_on("petsc+mpi+hypre", when="+petsc")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc+cuda cuda_arch={arch}", when=f"+petsc+cuda cuda_arch={arch}")
        depends_on(f"hypre+cuda cuda_arch={arch}", when=f"+petsc+cuda cuda_arch={arch}")
    depends_on("cmocka", type=("build", "test"))
    depends_on("gnuplot", type="run")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90")

    def arguments(self):
        spec = self.spec
        found = ["ARCH=native", "MPICC=" + (spec["mpi"].mpicc if spec.satisfies("+mpi") else "")]
        if spec.satisfies("+cuda"):
            found += ["CUDA_HOME=" + spec["cuda"].prefix, "CUDA_ARCHS=" + " ".join(spec.variants["cuda_arch"].value)]
        else:
            found.append("CUDA=no")
        if spec.satisfies("+nccl"):
            found.append("NCCL_HOME=" + spec["nccl"].prefix)
        return found

    def build(self, spec, prefix):
        make("all", *self.arguments())

    def check(self):
        make("tests", *self.arguments())
        make("run-tests", *self.arguments())

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        for program in ("meshgen", "scaling", "solve", "solves", "kernels", "peers"):
            path = join_path("build", program)
            if os.path.exists(path):
                install(path, prefix.bin)
