# febench: one Makefile. `make help` lists the targets.
#
# Sources are found by wildcard: a new file needs no edit here. What is not installed is left out, and
# `make info` says so.

.DEFAULT_GOAL := all
BUILD ?= build
ARCH ?= native
OPT ?= -O3
SANITIZE ?=
LINEINFO ?=
STORAGE ?=
# Those that `make bench` times. Elsewhere a list without tet10 and hex27 leaves quadratic elements out of the build.
ELEMENTS ?=
QUADRATIC := $(if $(strip $(ELEMENTS)),$(filter tet10 hex27,$(ELEMENTS)),yes)
BUDGET ?=
CLANG ?= clang
SECONDS ?= 60
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

# --- what this machine has ---------------------------------------------------------------------------
# packaging/detect.sh compiles, links and runs a small program for each library and leaves config.mk and have/*.h in
# $(BUILD); make then reads itself again. It runs again when these variables or a folder of
# headers or libraries have changed, and always for `make info`.
CUDA_HOME ?= $(CUDA_PATH)
# Looked for again where the environment has them empty: `make test` hands its own on, from before it installed packages.
NVCC := $(or $(NVCC),$(firstword $(wildcard $(addsuffix /bin/nvcc,$(CUDA_HOME))) $(shell command -v nvcc 2>/dev/null) \
    $(wildcard $(addsuffix /bin/nvcc,/usr/local/cuda /opt/cuda) /usr/local/cuda-*/bin/nvcc)))
MPICC := $(or $(MPICC),$(shell command -v mpicc 2>/dev/null))
CUDA ?=
CUDA_ARCHS ?=
NCCL_HOME ?=
PYTHON ?=
export PYTHON CC CXX NVCC MPICC CUDA CUDA_HOME CUDA_ARCHS NCCL_HOME CPPFLAGS CFLAGS CXXFLAGS LDFLAGS

# holds FILE,TEXT: FORCE where a file does not hold a text, as a prerequisite of the rule that writes it. So a file is as
# old as the last change of its text, and only a goal that needs the file writes it.
quoted = '$(subst ','\'',$(1))'
holds = $(shell printf '%s\n' $(call quoted,$(2)) | cmp -s - '$(1)' || echo FORCE)
write = @mkdir -p $(@D) && printf '%s\n' $(call quoted,$(1)) >$@
SEARCHED := $(wildcard /usr/include /usr/local/include /usr/lib /usr/lib64 /usr/local/lib /usr/lib/*-linux-gnu \
    /usr/include/*-linux-gnu $(addsuffix /include,$(CUDA_HOME) $(NCCL_HOME) $(NVCC:%/bin/nvcc=%)))
TOOLCHAIN := $(CC) | $(CXX) | $(NVCC) | $(MPICC) | $(CUDA) | $(CUDA_HOME) | $(CUDA_ARCHS) | $(NCCL_HOME) | $(NVCC_CCBIN) | $(PYTHON) | \
    $(CPPFLAGS) | $(CFLAGS) | $(CXXFLAGS) | $(LDFLAGS) | $(CPATH) | $(LIBRARY_PATH) | $(PKG_CONFIG_PATH) | $(PATH) | \
    $(shell stat -c %Y $(SEARCHED) 2>/dev/null)
# make writes what it includes even with -n and -q: then, what is found for other settings goes into a folder of its own.
DRY := $(strip $(foreach f,n q,$(findstring $f,$(filter-out --%,$(firstword -$(MAKEFLAGS))))))
OTHER := $(and $(DRY),$(wildcard $(BUILD)/config.mk),$(call holds,$(BUILD)/toolchain,$(TOOLCHAIN)))
FOUND := $(BUILD)$(if $(OTHER),/dry)
ifneq ($(filter-out help clean format types test bench storage forms sanitize sanitize-threads fuzz,$(or $(MAKECMDGOALS),all)),)
include $(FOUND)/config.mk
endif
$(FOUND)/config.mk: packaging/detect.sh $(FOUND)/toolchain
	@sh packaging/detect.sh '$(FOUND)'
$(FOUND)/toolchain: $(call holds,$(FOUND)/toolchain,$(TOOLCHAIN)) \
    $(and $(filter info,$(MAKECMDGOALS)),$(if $(DRY)$(MAKE_RESTARTS),,FORCE))
	$(call write,$(TOOLCHAIN))

HAVE_CORE := $(and $(HAVE_COMPILER),$(HAVE_BLAS))
HAVE_PROGRAMS := $(and $(HAVE_JSON),$(HAVE_EXPRESSION),$(HAVE_ZLIB))
HAVE_TESTS := $(and $(HAVE_CORE),$(HAVE_PROGRAMS),$(HAVE_CMOCKA))
COMMIT := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
# Why git does not tell it; a folder of another user, as in a container, is told how to mend.
COMMIT_NOTE = $(if $(filter unknown,$(COMMIT)),$(shell LC_ALL=C git describe --always 2>&1 | sed -n '1{ \
    s|.*dubious ownership.*|git does not trust the owner of this folder: git config --global --add safe.directory $(CURDIR)|; \
    s|.*unsafe repository.*|git does not trust the owner of this folder: git config --global --add safe.directory $(CURDIR)|; p; }'))

# --- flags: ours, then those of the environment -------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-unknown-pragmas -Wno-psabi -Wno-missing-field-initializers \
    -Werror=undef
LIBRARY_INCLUDES := $(sort $(BLAS_FLAGS) $(JSON_FLAGS) $(EXPRESSION_FLAGS) $(ZLIB_FLAGS) $(METIS_FLAGS) \
    $(SUPERLU_FLAGS) $(CMOCKA_FLAGS) $(BENCHMARK_FLAGS) $(CUDA_FLAGS) $(NCCL_FLAGS))
INCLUDES := -I. -I$(BUILD) $(patsubst -I%,-isystem %,$(LIBRARY_INCLUDES))
DEFINES := -D_GNU_SOURCE $(if $(STORAGE),-DFE_STORAGE=FE_STORAGE_$(STORAGE)) $(if $(QUADRATIC),,-DFE_HAVE_QUADRATIC=0) \
    $(CPPFLAGS)
# Flags, if the compiler takes them.
if_taken = $(if $(HAVE_COMPILER),$(shell echo 'int x;' | $(CC) -Werror $(1) -x c -c -o /dev/null - 2>/dev/null && echo '$(1)'))
# gcc searches long for aliases and for loads to share in unrolled bodies, and finds little: a fifth of its time.
SHORT_SEARCH := $(call if_taken,--param sccvn-max-alias-queries-per-access=40 -fno-gcse-after-reload)
SANITIZE_FLAGS := $(if $(SANITIZE),-g1 -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
C_FLAGS := -std=gnu11 $(OPT) $(SHORT_SEARCH) -march=$(ARCH) $(COMPILER_FLAGS) -fno-math-errno -ffp-contract=fast $(WARN) \
    $(DEFINES) $(SANITIZE_FLAGS) $(CFLAGS)
# gcc 13 takes vectors that are written lane by lane for uninitialized: 250 false warnings in bodies of host strategies.
LANES_WARN := $(call if_taken,-Wno-maybe-uninitialized)
# C++ starts what C and kernels compute: the harness, and the host's part of CUDA files. (nvcc's -O is for that part.)
CXX_OPT := $(if $(filter -O3,$(OPT)),-O1,$(OPT))
CXX_FLAGS := -std=c++17 $(CXX_OPT) -Wall -Wextra $(DEFINES) $(SANITIZE_FLAGS) $(CXXFLAGS)
ifneq ($(SANITIZE),)
CXX_FLAGS += -fno-sanitize=vptr # its runtime is of C++, and the C compiler links
endif
# Line numbers of device code, for profilers and compute-sanitizer, change no instruction and take time to compile.
NVCC_FLAGS := -std=c++17 $(CXX_OPT) $(if $(LINEINFO),-lineinfo) $(CUDA_CCBIN) $(CUDA_GENERATE) $(DEFINES) -Xcompiler -Wall \
    -Wno-deprecated-gpu-targets
LINK_FLAGS := $(SANITIZE_FLAGS) $(LDFLAGS)
LIBS := $(SUPERLU_LIBS) $(METIS_LIBS) $(BLAS_LIBS) $(NCCL_LIBS) $(CUSPARSE_LIBS) $(CUDA_LIBS) \
    $(COMPILER_LIBS) -lpthread -ldl -lm
ifneq ($(findstring thread,$(SANITIZE)),)
LIBS += $(foreach f,parallel atomic_start atomic_end,-Wl,--wrap=GOMP_$f) # tests/openmp_order.c
endif
# MPI's compiler is ours with its own flags added; two files need it, and all programs for linking.
WITH_MPI := $(if $(HAVE_MPI),OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC),$(CC))
PROGRAM_LIBS := $(EXPRESSION_LIBS) $(JSON_LIBS) $(ZLIB_LIBS)

# --- sources -----------------------------------------------------------------------------------------
# The core (physics, meshes, variants, solver) needs BLAS alone; files that read JSON, expressions or write
# VTU belong to the programs. bench/ and meshgen/ hold the mains.
PROGRAM_SOURCES := $(wildcard common/problem/case*.c common/problem/boundary*.c common/problem/expression.cc \
    common/report/result.c common/report/curve.c common/mesh/vtu.c)
# Strategies first: the longest to compile are their host.c and cuda.cu.
CORE_SOURCES := $(filter-out $(PROGRAM_SOURCES),$(wildcard variants/*/*.c common/*.c common/*/*.c meshgen/box.c meshgen/irregular.c)) \
                $(if $(findstring thread,$(SANITIZE)),tests/openmp_order.c)
CUDA_SOURCES := $(if $(HAVE_CUDA),$(wildcard variants/*/*.cu common/*/*.cu))
ifeq ($(HAVE_CUSPARSE),)
CUDA_SOURCES := $(filter-out variants/assembled_cusparse/%,$(CUDA_SOURCES))
endif
# Files that name something FE_TABLE or FE_PRECISE are compiled in mixed and in single precision, too
# (common/base/precision.h).
precise = $(if $(1),$(shell grep -lw 'FE_TABLE\|FE_PRECISE' $(1)))
object = $(patsubst %,$(BUILD)/obj/%.o,$(1))
objects = $(call object,$(1)) $(foreach p,mixed single,$(patsubst %,$(BUILD)/obj/%.$(p).o,$(call precise,$(1))))
CORE_OBJECTS := $(call objects,$(CORE_SOURCES) $(CUDA_SOURCES))
PROGRAM_OBJECTS := $(call object,$(PROGRAM_SOURCES))
RANK_SOURCES := bench/solve.c bench/answer.c bench/doubts.c bench/output.c bench/solves.c bench/solves_options.c bench/peers.c bench/whole.c bench/scaling.c bench/scaling_rank.c bench/scaling_times.c \
  bench/scaling_options.c bench/options.c bench/turns.c
KERNELS_SOURCES := $(wildcard bench/*.cc)
BENCH_SOURCES := $(filter-out $(RANK_SOURCES) bench/part.c bench/trace.c,$(wildcard bench/*.c)) $(if $(HAVE_CUDA),$(wildcard bench/*.cu)) oracle/oracle.c
TEST_SOURCES := $(wildcard tests/test_*.c)
TEST_HELPERS := $(filter-out $(TEST_SOURCES) tests/openmp_order.c,$(wildcard tests/*.c)) oracle/oracle.c
FUZZERS := mesh problem command writer
FUZZ_OBJECTS := $(patsubst %,$(BUILD)/obj/%.o,$(filter-out tests/fuzz/main.c,$(wildcard tests/fuzz/*.c)) bench/options.c bench/answer.c bench/doubts.c bench/output.c)
# The longest first, since several run at a time on a machine with many cores.
LONGEST := test_validation test_assembly test_sweep
TESTS := $(patsubst %,$(BUILD)/tests/%,$(LONGEST) $(filter-out $(LONGEST),$(basename $(notdir $(TEST_SOURCES)))))

# Loaded into a program by CUDA (bench/trace.c); nothing links it.
TRACE := $(if $(HAVE_CUPTI),$(BUILD)/trace.so)
PROGRAMS := $(if $(HAVE_CORE),$(BUILD)/meshgen $(BUILD)/scaling $(if $(HAVE_PROGRAMS),$(BUILD)/solve $(BUILD)/solves $(if $(HAVE_PETSC),$(BUILD)/peers)) $(if $(HAVE_BENCHMARK),$(BUILD)/kernels))

.PHONY: all info help test run-tests bench storage forms tables report compare reproduce sanitize sanitize-device sanitize-threads fuzz faults faults-device test-slurm format types clean deps tests programs first-look FORCE
# On all cores, unless -j says how many.
all: info
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j"$$(sh packaging/cores.sh)") programs
# The longest of what the programs need beside the library first, so that no core is left alone with it.
programs: $(if $(HAVE_BENCHMARK),$(call object,$(KERNELS_SOURCES))) $(PROGRAMS) $(TRACE)
	$(if $(HAVE_CORE),,@echo 'nothing can be built without a C compiler with OpenMP, and BLAS: make info' >&2; exit 2)

first-look: $(if $(HAVE_BENCHMARK),$(call object,$(KERNELS_SOURCES)) $(if $(HAVE_CORE),$(BUILD)/first/kernels))

help:
	@echo 'make            build what this machine can: programs under $(BUILD)/'
	@echo 'make info       show what was found, what is left out and how to get it'
	@echo 'make test       install what is missing, build, run all tests'
	@echo 'make bench      install what is missing, build, verify, time, tabulate, plot, within a budget of minutes:'
	@echo '                BUDGET=10 (7 without a GPU; 0: all points, hours); a second run continues the first'
	@echo '                also BACKENDS="host cuda" ELEMENTS="tet4 hex8" VARIANTS= SIZES_host="25000 100000"'
	@echo '                SIZES_cuda= MESHES_host= MESHES_cuda= THREADS= REPETITIONS= RESULTS=results; whole solves'
	@echo '                SOLVES_host= SOLVES_cuda="stretched46 bracket bending64" PRECONDITION="multigrid block-jacobi"'
	@echo '                (0: none); on several cores or GPUs'
	@echo '                RANKS_host="1 2 4" RANKS_cuda= (0: none), degrees of freedom STRONG_host= STRONG_cuda='
	@echo '                in all, WEAK_host= WEAK_cuda= a rank; SOCKET_host= SOCKET_cuda= of a GPU and its host;'
	@echo '                FURTHER_host= FURTHER_cuda= sizes between these, with PAPER or EXPERIMENTS'
	@echo '                EXPERIMENTS="sizes anderson": these of experiments/ alone'
	@echo '                PAPER=1: the whole list, several processes of each point, in pieces of BUDGET minutes; each call goes on'
	@echo '                on several GPUs side by side, a point on each (CARDS=n: on n of them)'
	@echo '                PAPER=1 MISSING=1: says what is missing, and how long it will take'
	@echo 'make storage    times ways to store states and tangents, each a build of its own (BACKEND= SIZE= ORDER= VARIANTS=)'
	@echo 'make forms      times ways to add the transposed half of assembled_symmetric, each a program of its own (BACKEND= SIZE=)'
	@echo 'make tables     what rows decide in documents anew'
	@echo 'make report     the report of all rows in results/, in results/report/: one HTML page, Markdown, LaTeX, PDF'
	@echo 'make compare A=RUN B=RUN  point by point: faster, slower, same or cannot tell; RUN: a folder of results (MARGIN= APART=)'
	@echo 'make reproduce CLAIM=NAME  the smallest run that decides a claim of docs/claims.md (PROCESSES=3); at your size and on'
	@echo '                your mesh: DOFS=3000000 MESH=irregular, or MESH=FILE.msh'
	@echo 'make sanitize   tests under address and undefined-behaviour sanitizers; compute-sanitizer on a GPU'
	@echo 'make sanitize-device  on a GPU: solves and operations of each strategy under memcheck, racecheck, initcheck, synccheck'
	@echo 'make sanitize-threads  host tests under ThreadSanitizer'
	@echo 'make fuzz SECONDS=600  libFuzzer (clang) on meshes, problems, command lines and writers, each so long'
	@echo 'make faults     solve and meshgen with each allocation, write, flush, rename and read failing once; KILLS=200 runs'
	@echo '                that are killed and resumed'
	@echo 'make faults-device  on a GPU: no device memory at each allocation, a lost device, NaN, NCCL that fails between two ranks, without and with peer memory'
	@echo 'make test-slurm  a Slurm of two nodes on this machine, where Debian has it: srun, time limits, arrays, the job script'
	@echo 'make format     clang-format on all sources'
	@echo 'make types      mypy on the Python of report/ and runner/'
	@echo 'make deps       only install missing libraries (Debian packages)'
	@echo 'make clean      remove $(BUILD)/'
	@echo 'variables, here or in the environment:'
	@echo '  CC CXX NVCC MPICC         compilers; NVCC_CCBIN: host compiler of nvcc; CPPFLAGS CFLAGS CXXFLAGS LDFLAGS: further flags'
	@echo '  CUDA_HOME NCCL_HOME       folders of the CUDA Toolkit and NCCL, if they are not found; CUDA=no: build without'
	@echo '  CUDA_ARCHS="80 90 100"    GPU architectures (default: those of the GPUs found, otherwise 90 and PTX)'
	@echo '  BUILD=$(BUILD) ARCH=$(ARCH) OPT=$(OPT) SANITIZE=address,undefined V=1 (shows commands)'
	@echo '  ELEMENTS="tet4 hex8" (leaves quadratic elements out, for a shorter build)'
	@echo '  LINEINFO=1 (lines of device code for profilers and compute-sanitizer; a longer build)'
	@echo '  STORAGE=FLOATS|RECORDS|ARRAYS (common/physics/view.h; the tests need the default)'

# One line per library: found, or what is left out without it and how to get it.
report = @printf '%-18s %s\n' '$(1)' '$(subst ','\'',$(if $(HAVE_$(2)),found: $($(2)_NOTE),missing: $(3)$(if $($(2)_NOTE), [$($(2)_NOTE)])))'
info:
	$(call report,C and OpenMP,COMPILER,nothing can be built; apt-get install gcc (clang: libomp-dev))
	$(call report,BLAS and LAPACKE,BLAS,nothing can be built; apt-get install libopenblas-dev liblapacke-dev)
	$(call report,CUDA Toolkit,CUDA,the cuda backend is left out; install the CUDA Toolkit 12.4 or newer (elsewhere than usual: make CUDA_HOME=FOLDER))
	$(call report,cuSPARSE,CUSPARSE,assembled_cusparse and assembled_csr are left out on GPUs; it comes with the CUDA Toolkit (libcusparse-dev-*))
	$(call report,NCCL,NCCL,several GPUs are left out; it comes with the repository of the CUDA Toolkit as libnccl-dev (elsewhere than usual: make NCCL_HOME=FOLDER))
	$(call report,CUPTI,CUPTI,time by kernel (EXPERIMENTS=communication) is left out; it comes with the CUDA Toolkit (cuda-cupti-dev-*))
	$(call report,MPI,MPI,ranks are threads of one process only; apt-get install libopenmpi-dev openmpi-bin)
	$(call report,PETSc,PETSC,PETSc and hypre are left out of the sweep; apt-get install libpetsc-real-dev)
	$(call report,SuperLU,SUPERLU,systems that no iteration solves are given up; apt-get install libsuperlu-dev)
	$(call report,METIS,METIS,--partition metis is left out; apt-get install libmetis-dev)
	$(call report,jansson,JSON,programs that solve and the tests are left out; apt-get install libjansson-dev)
	$(call report,muParser,EXPRESSION,programs that solve and the tests are left out; apt-get install g++ libmuparser-dev)
	$(call report,zlib,ZLIB,programs that solve and the tests are left out; apt-get install zlib1g-dev)
	$(call report,Google Benchmark,BENCHMARK,kernels is left out; apt-get install libbenchmark-dev)
	$(call report,cmocka,CMOCKA,the tests are left out; apt-get install libcmocka-dev)
	$(call report,gnuplot,GNUPLOT,figures are left out; apt-get install gnuplot-nox)
	@printf '%-18s %s\n' elements '$(if $(QUADRATIC),tet4 hex8 tet10 hex27,tet4 hex8; tet10 and hex27 are left out, as ELEMENTS="$(ELEMENTS)" asks)'
	$(call report,Python,PYTHON,rows are not compared, and without any Python 3.11 make bench takes one size alone, without tables and figures; apt-get install python3-scipy python3-jinja2)
	$(if $(COMMIT_NOTE),@printf '%-18s %s\n' commit $(call quoted,unknown to results: $(COMMIT_NOTE)))
	@echo 'why something is missing: $(BUILD)/detect/*.log'

# Flags in force, a file for each compiler: objects depend on theirs, which changes only when they do. Libraries are not
# among them: files that use one include have/*.h.
FLAGS_c := $(CC) $(C_FLAGS)
FLAGS_cc := $(CXX) $(CXX_FLAGS)
FLAGS_cu := $(NVCC) $(NVCC_FLAGS) | $(NVCC_CCBIN) | $(CUDA_FLAGS)
define flags_rule
$(BUILD)/flags-$(1): $(call holds,$(BUILD)/flags-$(1),$(FLAGS_$(1)))
	$$(call write,$$(FLAGS_$(1)))
endef
$(foreach language,c cc cu,$(eval $(call flags_rule,$(language))))
$(BUILD)/commit: $(call holds,$(BUILD)/commit,$(COMMIT))
	$(call write,$(COMMIT))
	@$(if $(COMMIT_NOTE),echo $(call quoted,warning: results of this build do not know their commit: $(COMMIT_NOTE)) >&2)

# V=1 shows the commands.
V ?=
said = $(if $(V),,@printf '%-5s %s\n' '$(1)' '$(subst $(BUILD)/obj/,,$(2))';)
C_COMPILER = $(CC)
$(BUILD)/obj/%.c.o: %.c $(BUILD)/flags-c
	@mkdir -p $(@D)
	$(call said,CC,$<)$(C_COMPILER) $(C_FLAGS) $(INCLUDES) -MMD -MP -c $< -o $@
$(BUILD)/obj/%.cu.o: %.cu $(BUILD)/flags-cu
	@mkdir -p $(@D)
	$(call said,NVCC,$<)$(NVCC) $(NVCC_FLAGS) -I. -I$(BUILD) $(LIBRARY_INCLUDES) -MMD -MP -c $< -o $@
# Files in floats need a third of the time with -O2, and are as fast.
ROUNDED_OPT := $(if $(filter -O3,$(OPT)),-O2)
define precise_rules
$(BUILD)/obj/%.c.$(1).o: %.c $(BUILD)/flags-c
	@mkdir -p $$(@D)
	$$(call said,CC,$$< $(1))$$(C_COMPILER) $$(C_FLAGS) $(ROUNDED_OPT) -DFE_PRECISION=$(2) $$(INCLUDES) -MMD -MP -c $$< -o $$@
$(BUILD)/obj/%.cu.$(1).o: %.cu $(BUILD)/flags-cu
	@mkdir -p $$(@D)
	$$(call said,NVCC,$$< $(1))$$(NVCC) $$(NVCC_FLAGS) -DFE_PRECISION=$(2) -I. -I$(BUILD) $$(LIBRARY_INCLUDES) -MMD -MP -c $$< -o $$@
endef
$(eval $(call precise_rules,mixed,FE_MIXED))
$(eval $(call precise_rules,single,FE_SINGLE))
$(BUILD)/obj/%.cc.o: %.cc $(BUILD)/flags-cc
	@mkdir -p $(@D)
	$(call said,CXX,$<)$(CXX) $(CXX_FLAGS) $(INCLUDES) -MMD -MP -c $< -o $@
$(BUILD)/obj/variants/%.o $(BUILD)/obj/bench/forms/%.o $(BUILD)/obj/bench/element_only.%.o: C_FLAGS += $(LANES_WARN)
# It counts the operations of bodies, once for each point and untimed: half of the time of all C++ files otherwise.
$(BUILD)/obj/bench/model.cc.o: CXX_FLAGS += -O0
$(BUILD)/obj/common/ranks/comm_mpi.c.o $(BUILD)/obj/common/report/version.c.o: C_COMPILER = $(WITH_MPI)
$(BUILD)/obj/bench/peers.c.o: C_COMPILER = $(WITH_MPI)
$(BUILD)/obj/bench/peers.c.o: INCLUDES += $(patsubst -I%,-isystem %,$(filter -I%,$(PETSC_FLAGS)))
$(BUILD)/obj/common/report/version.c.o: $(BUILD)/commit
$(BUILD)/obj/common/report/version.c.o: C_FLAGS += -DFE_COMMIT='"$(COMMIT)"' -DFE_NVCC='"$(or $(CUDA_VERSION),none)"' \
    -DFE_FLAGS='"$(OPT) -march=$(ARCH)"'

ifneq ($(findstring thread,$(SANITIZE)),)
# The oracle runs in one thread and takes most of the time: it is not instrumented.
$(call object,oracle/oracle.c $(addprefix tests/,scene.c rig.c mechanics.c test_assembly.c)): C_FLAGS += -O2 -fno-sanitize=thread
endif

ifneq ($(findstring fuzzer,$(CFLAGS)),)
# Input ends before these; clang takes minutes for each with sanitizers.
$(call objects,$(wildcard variants/*/*.c $(patsubst %,common/%/*.c,solver multigrid krylov backend) common/problem/*_host.c)): C_FLAGS += -fno-sanitize=all -O0
endif

doubles = $(filter-out %.mixed.o %.single.o,$(1))
$(BUILD)/libfebench.a: $(CORE_OBJECTS)
$(BUILD)/first/libfebench.a: $(call doubles,$(CORE_OBJECTS))
$(BUILD)/libfebench.a $(BUILD)/first/libfebench.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(call said,AR,$@)$(AR) rcs $@ $^

$(BUILD)/meshgen: $(call object,meshgen/meshgen.c) $(BUILD)/libfebench.a
	$(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) -o $@ $^ $(LIBS)
$(BUILD)/solve: $(call object,bench/answer.c bench/doubts.c bench/output.c)
$(BUILD)/solves: $(call object,bench/solves_options.c bench/turns.c bench/conditions.c bench/nvml.c)
$(BUILD)/solve $(BUILD)/solves: $(BUILD)/%: $(BUILD)/obj/bench/%.c.o $(call object,bench/options.c bench/whole.c) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	$(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(PROGRAM_LIBS) $(LIBS)
$(BUILD)/peers: $(call object,bench/peers.c bench/options.c bench/whole.c) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	$(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) -o $@ $^ $(PETSC_LIBS) $(PROGRAM_LIBS) $(LIBS)
SCALING_OBJECTS := $(call object,bench/scaling.c bench/scaling_rank.c bench/scaling_times.c bench/scaling_options.c bench/options.c) \
    $(call objects,$(BENCH_SOURCES))
KERNELS_OBJECTS := $(call objects,$(KERNELS_SOURCES) $(BENCH_SOURCES)) \
    $(if $(HAVE_PROGRAMS),$(call object,bench/part.c) $(PROGRAM_OBJECTS),$(call object,bench/first/no_part.c))
$(BUILD)/scaling: $(SCALING_OBJECTS) $(BUILD)/libfebench.a
	$(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) -o $@ $^ $(LIBS)
$(BUILD)/kernels: $(KERNELS_OBJECTS) $(BUILD)/libfebench.a
$(BUILD)/first/kernels: $(call object,$(KERNELS_SOURCES) bench/first/no_floats.c bench/first/no_part.c) \
    $(call doubles,$(call objects,$(BENCH_SOURCES))) $(BUILD)/first/libfebench.a
$(BUILD)/trace.so: bench/trace.c common/base/hash.h $(BUILD)/flags-c
	$(call said,CC,$<)$(CC) -std=gnu11 -O2 -shared -fPIC $(WARN) $(DEFINES) -I. $(patsubst -I%,-isystem %,$(CUPTI_FLAGS)) -o $@ $< \
	    $(LDFLAGS) $(CUPTI_LIBS) -lpthread
# Other forms of assembled_symmetric: their tables come before those in the library.
FORM_KERNELS := $(foreach form,GATHER COLORS,$(BUILD)/forms/$(form)/kernels)
form_objects = $(call objects,$(wildcard bench/forms/*.c bench/forms/$(1)/*.c) $(if $(HAVE_CUDA),$(wildcard bench/forms/$(1)/*.cu)))
$(BUILD)/forms/GATHER/kernels: $(call form_objects,gather)
$(BUILD)/forms/COLORS/kernels: $(call form_objects,colors)
$(FORM_KERNELS): $(KERNELS_OBJECTS) $(BUILD)/libfebench.a
$(BUILD)/kernels $(FORM_KERNELS): PART_LIBS := $(if $(HAVE_PROGRAMS),$(PROGRAM_LIBS))
$(BUILD)/kernels $(BUILD)/first/kernels $(FORM_KERNELS):
	@mkdir -p $(@D)
	$(call said,LINK,$@)$(CXX) $(LINK_FLAGS) -o $@ $^ $(BENCHMARK_LIBS) $(PART_LIBS) $(LIBS)
link_test = $(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
    $(CMOCKA_LIBS) $(PROGRAM_LIBS) $(LIBS)
$(BUILD)/tests/%: $(BUILD)/obj/tests/%.c.o $(call object,$(TEST_HELPERS)) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	@mkdir -p $(@D)
	$(link_test)
$(BUILD)/tests/test_fuzz: $(FUZZ_OBJECTS)
$(BUILD)/tests/test_box_pieces: $(call objects,$(BENCH_SOURCES))
$(BUILD)/tests/test_symmetric_forms: $(call object,$(wildcard bench/forms/*.c))
# The tests of all operations with another form, of that strategy alone.
FORM_TESTS := $(BUILD)/tests/test_assembly_gather $(BUILD)/tests/test_assembly_colors
$(BUILD)/tests/test_assembly_gather: $(call form_objects,gather)
$(BUILD)/tests/test_assembly_colors: $(call form_objects,colors)
$(FORM_TESTS): $(call object,tests/test_assembly.c $(TEST_HELPERS)) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	@mkdir -p $(@D)
	$(link_test)
$(BUILD)/tests/test_report: $(call object,bench/energy.c bench/nvml.c bench/conditions.c bench/cold.c) | $(BUILD)/tests/nvml.so $(BUILD)/tests/nvml-old.so
$(BUILD)/tests/nvml.so $(BUILD)/tests/nvml-old.so: tests/faults/nvml.c $(BUILD)/flags-c
	@mkdir -p $(@D)
	$(call said,CC,$<)$(CC) -O1 -shared -fPIC $(WARN) $(if $(findstring old,$@),-DOLD) -o $@ $<
# Programs of make fuzz, built with libFuzzer where clang has it.
$(BUILD)/obj/tests/fuzz/main-%.o: tests/fuzz/main.c $(BUILD)/flags-c
	@mkdir -p $(@D)
	$(call said,CC,$@)$(CC) $(C_FLAGS) $(INCLUDES) -DFUZZ_TARGET=fuzz_$* -c $< -o $@
$(BUILD)/fuzz-%: $(BUILD)/obj/tests/fuzz/main-%.o $(FUZZ_OBJECTS) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	$(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) -fsanitize=fuzzer -o $@ $^ $(PROGRAM_LIBS) $(LIBS)
# Loaded before all libraries it makes calls fail; ThreadSanitizer has to be the first itself.
INJECT := $(if $(findstring thread,$(SANITIZE)),,$(BUILD)/tests/inject.so)
$(BUILD)/tests/inject.so: tests/faults/inject.c $(BUILD)/flags-c
	@mkdir -p $(@D)
	$(call said,CC,$<)$(CC) -O1 -shared -fPIC $(WARN) $(DEFINES) -o $@ $< -ldl
# Programs whose answers become wrong while they are timed
LATE := $(addprefix $(BUILD)/tests/,solves-late scaling-late $(if $(HAVE_BENCHMARK),kernels-late))
$(BUILD)/tests/solves-late: $(call object,bench/solves.c bench/solves_options.c bench/turns.c bench/conditions.c bench/nvml.c bench/options.c bench/whole.c) $(PROGRAM_OBJECTS)
$(BUILD)/tests/scaling-late: $(SCALING_OBJECTS)
$(BUILD)/tests/kernels-late: $(KERNELS_OBJECTS)
$(LATE): $(BUILD)/tests/%-late: $(call object,tests/faults/late.c) $(BUILD)/libfebench.a
	@mkdir -p $(@D)
	$(call said,LINK,$@)$(if $(findstring kernels,$@),$(CXX),$(WITH_MPI)) $(LINK_FLAGS) -Wl,--wrap=fe_apply -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(if $(findstring kernels,$@),$(BENCHMARK_LIBS)) $(PROGRAM_LIBS) $(LIBS)
# `solve` with calls of CUDA and its libraries that fail, for tests/faults/device.sh
DEVICE_CALLS := $(addprefix cuda,Malloc MallocHost HostAlloc Free FreeHost Memcpy MemcpyAsync MemsetAsync LaunchKernel \
    LaunchKernelExC GraphLaunch GraphInstantiate GetLastError StreamSynchronize StreamQuery StreamWaitEvent StreamBeginCapture \
    StreamEndCapture StreamCreateWithFlags StreamCreateWithPriority EventCreate EventCreateWithFlags EventRecord EventQuery \
    EventSynchronize) __cudaLaunchKernel cublasCreate_v2 cusparseCreate \
    $(addprefix nccl,GetUniqueId CommInitRank GroupStart GroupEnd Send Recv AllReduce CommGetAsyncError)
FAULTY_SOLVE := $(if $(HAVE_CUDA),$(BUILD)/tests/solve-faulty)
$(BUILD)/tests/solve-faulty: $(call object,bench/solve.c bench/answer.c bench/doubts.c bench/output.c bench/options.c bench/whole.c tests/faults/device.c) \
    $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	@mkdir -p $(@D)
	$(call said,LINK,$@)$(WITH_MPI) $(LINK_FLAGS) $(DEVICE_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(PROGRAM_LIBS) $(LIBS)
.PRECIOUS: $(BUILD)/obj/tests/fuzz/main-%.o $(BUILD)/obj/%.c.o $(BUILD)/obj/%.cu.o $(BUILD)/obj/%.cc.o \
    $(foreach p,mixed single,$(BUILD)/obj/%.c.$(p).o $(BUILD)/obj/%.cu.$(p).o)

tests: $(PROGRAMS) first-look $(if $(HAVE_BENCHMARK),$(FORM_KERNELS)) $(if $(HAVE_TESTS),$(TESTS) $(FORM_TESTS) $(INJECT) $(LATE) $(FAULTY_SOLVE))
	$(if $(HAVE_TESTS),,@echo 'the tests need cmocka, jansson, muParser and zlib: make info' >&2; exit 2)

# Debian packages of what was not found.
DEPS := $(if $(HAVE_COMPILER),,gcc) $(if $(HAVE_BLAS),,libopenblas-dev liblapacke-dev) $(if $(HAVE_JSON),,libjansson-dev) \
    $(if $(HAVE_EXPRESSION),,g++ libmuparser-dev) $(if $(HAVE_ZLIB),,zlib1g-dev) $(if $(HAVE_SUPERLU),,libsuperlu-dev) \
    $(if $(HAVE_METIS),,libmetis-dev) \
    $(if $(HAVE_MPI),,libopenmpi-dev openmpi-bin) $(if $(HAVE_BENCHMARK),,g++ libbenchmark-dev) \
    $(if $(HAVE_CMOCKA),,libcmocka-dev) $(if $(HAVE_GNUPLOT),,gnuplot-nox) $(if $(HAVE_PYTHON),,python3-scipy python3-jinja2) \
    $(if $(WITH_TESTS),$(shell python3 -c 'import vtkmodules' 2>/dev/null || echo python3-vtk9) $(shell command -v mypy >/dev/null || echo mypy))
deps:
	@sh packaging/install.sh $(DEPS)

# make looks for libraries when it starts, so whatever follows an installation runs in a new make. Libraries that
# cannot be installed are named and left out.
test:
	-@$(MAKE) --no-print-directory deps WITH_TESTS=1
	@$(MAKE) --no-print-directory info
	@$(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" tests
	@$(MAKE) --no-print-directory run-tests
run-tests: tests
	@FE_BUILD=$(BUILD) FE_PYTHON='$(PYTHON_COMMAND)' sh tests/run.sh $(if $(SANITIZE),$(PIECES),tests/detection.sh tests/goals.sh tests/report.sh tests/types.sh $(TESTS) $(foreach test,$(FORM_TESTS),'$(test) assembled_symmetric*'))

# Minutes, most of them to await a time limit: not among the tests.
test-slurm: $(BUILD)/solve $(BUILD)/scaling $(BUILD)/meshgen $(if $(HAVE_BENCHMARK),$(BUILD)/kernels)
	@FE_BUILD=$(BUILD) sh tests/run.sh tests/slurm.sh

# Under a sanitizer the two longest programs run in one piece for each strategy. test_new_variant is left out: its
# strategy has the bodies of another one.
STRATEGIES := $(shell sed -n 's/^FE_VARIANT(\(.*\))$$/\1/p' variants/variants.def)
WHOLE := $(filter-out %/test_assembly %/test_validation %/test_new_variant,$(TESTS))
PIECES = $(WHOLE) '$(BUILD)/tests/test_assembly scenes' $(foreach s,$(STRATEGIES),'$(BUILD)/tests/test_assembly $s *' \
    '$(BUILD)/tests/test_validation * $s host*')

# Host tests under the sanitizers in a build of their own; on a GPU also compute-sanitizer over whole solves and over
# operations.
SANITIZED := CUDA=no SANITIZE=address,undefined OPT=-O1
SEES_GPU := command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1
sanitize: export LIMIT ?= 1200
sanitize:
	-@$(MAKE) --no-print-directory deps WITH_TESTS=1
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/sanitize $(SANITIZED) run-tests
	@if $(SEES_GPU); then $(MAKE) --no-print-directory sanitize-device tests; else echo 'compute-sanitizer: skipped, no GPU'; fi
	@for tool in $$(if $(SEES_GPU); then echo memcheck racecheck; fi); do \
	    compute-sanitizer --tool $$tool --error-exitcode 1 $(BUILD)/tests/test_assembly '*cuda*' || exit 1; done

# Whole solves on a GPU, each strategy under all four tools, in minutes.
sanitize-device: $(BUILD)/solve $(BUILD)/meshgen $(BUILD)/kernels
	@FE_BUILD=$(BUILD) sh tests/sanitize_device.sh

# Device memory that runs out at each allocation, a device that is lost, NaN, failures of NCCL.
faults-device: $(BUILD)/solve $(BUILD)/meshgen $(FAULTY_SOLVE)
	@FE_BUILD=$(BUILD) sh tests/faults/device.sh

# Races between the threads of a loop and between ranks. gcc only, as tests/openmp_order.c says; -O1 takes minutes for
# each file.
sanitize-threads: export LIMIT ?= 1200
sanitize-threads: export TSAN_OPTIONS ?= suppressions=$(CURDIR)/tests/threads.supp
sanitize-threads:
	-@$(MAKE) --no-print-directory deps WITH_TESTS=1
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/threads CUDA=no SANITIZE=thread OPT=-O0 run-tests

# Each fuzzer for so many seconds, in a build of its own. What it finds worth keeping stays in $(BUILD)/fuzz/corpus; an
# input that fails is left as $(BUILD)/fuzz/TARGET-crash-*, and belongs into tests/fuzz/corpus once it is mended.
fuzz: folder := $(BUILD)/fuzz
fuzz:
	@command -v $(CLANG) >/dev/null || { echo 'fuzz: libFuzzer comes with clang, which was not found' >&2; exit 2; }
	@$(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" BUILD=$(folder) CC=$(CLANG) CXX=$(CLANG)++ CUDA=no OPT=-O1 \
	    SANITIZE=address,undefined CFLAGS=-fsanitize=fuzzer-no-link CXXFLAGS=-fsanitize=fuzzer-no-link \
	    $(addprefix $(folder)/fuzz-,$(FUZZERS))
	@for target in $(FUZZERS); do mkdir -p $(folder)/corpus/$$target; echo "fuzz: $$target"; \
	    MEMORY=1 OMP_NUM_THREADS=1 $(folder)/fuzz-$$target -max_total_time=$(SECONDS) -timeout=5 -rss_limit_mb=2048 -max_len=16384 \
	        -print_final_stats=1 -artifact_prefix=$(folder)/$$target- $(folder)/corpus/$$target \
	        tests/fuzz/corpus/$$target >$(folder)/$$target.log 2>&1; code=$$?; \
	    grep -av '^solve: \|^meshgen: \|^note: \|^#.*exec/s:.*L: ' $(folder)/$$target.log | tail -n 40; [ $$code -eq 0 ] || exit 1; done

# Every allocation, write, flush, rename and read of a small solve and of meshgen fails once, then again every
# allocation under the address sanitizer; runs are killed and resumed.
KILLS ?= 200
all_faults = n=$$(sh packaging/cores.sh); seq $$n | xargs -P $$n -I{} env FE_FAULT_STRIDE=$$n FE_FAULT_FIRST={} $(1)
faults: tests
	@$(call all_faults,$(BUILD)/tests/test_faults)
	@$(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" BUILD=$(BUILD)/sanitize $(SANITIZED) tests
	@$(call all_faults,$(BUILD)/sanitize/tests/test_faults 'memory_of_*')
	@FE_KILLS=$(KILLS) $(BUILD)/tests/test_resume 'killed_*'

# A line of a recipe with $(MAKE) runs even with -n: it holds nothing else that does something.
# The budget of time begins here. Where nothing is built, the first look needs one program, in doubles; then the runner
# builds the others. Where there is no GPU either (nor WSL's or Tegra's), kernels for one would take half of the budget:
# all is built without CUDA, in a folder of its own.
HOST_ALONE = $(if $(or $(CUDA),$(wildcard $(BUILD)/kernels /dev/nvidia[0-9]* /dev/dxg /dev/nvhost-gpu)),,yes)
BENCH_FOLDER = $(BUILD)$(if $(HOST_ALONE),/host)
# ELEMENTS says here what is timed: what is built stays as it is, unless it lacks one of these. The folder of its own is
# first built without quadratic elements, which would take a third of a sweep's budget and come last: where all points
# are measured, or some were chosen, they are built, too.
BENCH_FLAGS = $(wildcard $(BENCH_FOLDER)/flags-c)
BENCH_ALL = $(or $(PAPER),$(EXPERIMENTS),$(filter 0,$(BUDGET)))
AS_BUILT = $(if $(and $(HOST_ALONE),$(BENCH_ALL)),$(QUADRATIC),$(if $(BENCH_FLAGS),$(shell \
    grep -q FE_HAVE_QUADRATIC=0 '$(BENCH_FLAGS)' || echo yes),$(if $(HOST_ALONE),,$(QUADRATIC))))
BENCH_MAKE = $(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" BUILD='$(BENCH_FOLDER)' \
    QUADRATIC='$(if $(filter tet10 hex27,$(ELEMENTS)),yes,$(AS_BUILT))' $(if $(HOST_ALONE),CUDA=no)
bench: export BENCH_START := $(shell date +%s)
bench: export BENCH_BUILD = $(BENCH_MAKE) programs
bench:
	-@$(MAKE) --no-print-directory deps
	@[ -x '$(BENCH_FOLDER)/kernels' ] || $(BENCH_MAKE) first-look
	@BUILD='$(BENCH_FOLDER)' BUDGET='$(BUDGET)' sh bench/bench.sh

# Builds of `kernels` that differ in how points are stored (common/physics/view.h).
storage:
	@$(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" $(BUILD)/kernels
	@for storage in FLOATS RECORDS ARRAYS; do \
	    $(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" BUILD='$(BUILD)'/storage/$$storage STORAGE=$$storage \
	        '$(BUILD)'/storage/$$storage/kernels || exit 1; done
	@BUILD='$(BUILD)' EXPERIMENTS=storage BACKENDS='$(or $(BACKEND),$(BACKENDS))' sh bench/bench.sh
# Programs that differ in how assembled_symmetric adds its transposed half (bench/forms/forms.h).
forms:
	@$(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" $(BUILD)/kernels $(FORM_KERNELS)
	@BUILD='$(BUILD)' EXPERIMENTS=symmetric-forms BACKENDS='$(or $(BACKEND),$(BACKENDS))' sh bench/bench.sh

tables:
	$(if $(HAVE_PYTHON),@$(PYTHON_COMMAND) -m report.documents,@echo 'tables: documents are left as they are: no Python with NumPy and SciPy (make info)' >&2)

# The smallest set of points that decides a claim, on this machine.
PROCESSES ?= 3
reproduce:
	$(if $(HAVE_PYTHON),,@echo 'reproduce: needs Python with NumPy and SciPy: make info' >&2; exit 2)
	@$(if $(CLAIM),,echo 'usage: make reproduce CLAIM=NAME [DOFS=N] [MESH=FILE.msh]; docs/claims.md has the names' >&2; exit 2)
	@$(PYTHON_COMMAND) -m report.reproduce '$(CLAIM)' --dofs '$(DOFS)' --mesh '$(subst ','\'',$(MESH))' --check
	@echo 'reproduce: building programs first, in $(BUILD); python3 -m report.reproduce $(CLAIM) --build DIR builds none'
	@$(MAKE) --no-print-directory -j"$$(sh packaging/cores.sh)" programs
	@$(PYTHON_COMMAND) -m report.reproduce '$(CLAIM)' --processes '$(PROCESSES)' --dofs '$(DOFS)' --mesh '$(subst ','\'',$(MESH))' --build '$(BUILD)'

# Two runs, commits or cards.
compare:
	$(if $(HAVE_PYTHON),,@echo 'compare: needs Python with NumPy and SciPy: make info' >&2; exit 2)
	@$(if $(and $(A),$(B)),,echo 'usage: make compare A=RUN B=RUN, each a folder of results' >&2; exit 2)
	@$(PYTHON_COMMAND) -m report.compare '$(A)' '$(B)' $(if $(MARGIN),--margin '$(MARGIN)') $(if $(APART),--apart '$(APART)')

# What Python, gnuplot or LaTeX lacks is left out, and said.
REPORT_PYTHON = $(or $(PYTHON_COMMAND),$(PYTHON),python3)
report:
	@$(REPORT_PYTHON) -c 'import tomllib' 2>/dev/null || { echo 'report: Python 3.11 or newer is missing: make info' >&2; exit 2; }
	@$(REPORT_PYTHON) -m report

format:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.cc')

# mypy.ini says how strict.
types:
	@mkdir -p $(BUILD)/tests
	@FE_BUILD=$(BUILD) sh tests/run.sh tests/types.sh

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
