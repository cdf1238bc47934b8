# febench: one Makefile. `make help` lists the targets.
#
# Sources are found by wildcard: a new file needs no edit here. What is not installed is left out, and
# `make info` says so.

.DEFAULT_GOAL := all
BUILD ?= build
ARCH ?= native
OPT ?= -O3
CC ?= gcc
SANITIZE ?=
STORAGE ?=

# --- what this machine has ---------------------------------------------------------------------------
has_header = $(shell echo '\#include <$(1)>' | $(2) -E -x $(or $(3),c) - >/dev/null 2>&1 && echo yes)
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda /usr/lib/cuda /opt/cuda))
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard $(CUDA_HOME)/bin/nvcc))
CUDA_ARCHS ?= 80 90 100
HAVE_JSON := $(call has_header,jansson.h,$(CC))
HAVE_EXPRESSION := $(call has_header,muParserDLL.h,$(CC))
HAVE_ZLIB := $(call has_header,zlib.h,$(CC))
HAVE_METIS := $(call has_header,metis.h,$(CC))
HAVE_BLAS := $(call has_header,cblas.h,$(CC))
HAVE_LAPACKE := $(call has_header,lapacke.h,$(CC))
HAVE_CMOCKA := $(shell printf '\#include <stdarg.h>\n\#include <stddef.h>\n\#include <stdint.h>\n\#include <setjmp.h>\n\#include <cmocka.h>\n' | $(CC) -E - >/dev/null 2>&1 && echo yes)
HAVE_BENCHMARK := $(call has_header,benchmark/benchmark.h,$(CXX),c++)
HAVE_GNUPLOT := $(shell command -v gnuplot >/dev/null 2>&1 && echo yes)
MPICC := $(shell command -v mpicc 2>/dev/null)
HAVE_MPI := $(if $(MPICC),yes)
CUDA ?= $(if $(NVCC),yes)
HAVE_CUDA := $(filter yes,$(CUDA))
HAVE_CUSPARSE := $(if $(HAVE_CUDA),$(call has_header,cusparse.h,$(CC) $(if $(CUDA_HOME),-I$(CUDA_HOME)/include)))
HAVE_NCCL := $(if $(HAVE_CUDA),$(call has_header,nccl.h,$(CC) $(if $(CUDA_HOME),-I$(CUDA_HOME)/include)))
HAVE_PROGRAMS := $(and $(HAVE_JSON),$(HAVE_EXPRESSION),$(HAVE_ZLIB))

comma := ,
COMMIT := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)

# --- flags -------------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-unknown-pragmas -Wno-psabi -Wno-missing-field-initializers
DEFINES := -I. -D_GNU_SOURCE -DFE_HAVE_CUDA=$(if $(HAVE_CUDA),1,0) -DFE_HAVE_METIS=$(if $(HAVE_METIS),1,0) \
    -DFE_HAVE_CUSPARSE=$(if $(HAVE_CUSPARSE),1,0) -DFE_HAVE_NCCL=$(if $(HAVE_NCCL),1,0) \
    -DFE_HAVE_MPI=$(if $(HAVE_MPI),1,0) $(if $(STORAGE),-DFE_STORAGE=FE_STORAGE_$(STORAGE))
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CFLAGS := -std=gnu11 -g $(OPT) -march=$(ARCH) -fopenmp -fno-math-errno -ffp-contract=fast $(WARN) $(DEFINES) $(SANITIZE_FLAGS)
CXXFLAGS := -std=c++17 -g $(OPT) -Wall -Wextra $(DEFINES) $(SANITIZE_FLAGS)
GENCODE := $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a))
NVCCFLAGS := -std=c++17 -O3 -lineinfo $(GENCODE) $(DEFINES) -Xcompiler -Wall -Wno-deprecated-gpu-targets
LDLIBS := -fopenmp -llapacke -lopenblas -lpthread -lm
ifeq ($(HAVE_CUDA),yes)
CUDA_LIBDIR := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
DEFINES += -I$(CUDA_HOME)/include
LDLIBS += -L$(CUDA_LIBDIR) $(if $(HAVE_NCCL),-lnccl) $(if $(HAVE_CUSPARSE),-lcusparse) -lcublas -lcudart_static -ldl -lrt -lstdc++
endif
ifeq ($(HAVE_METIS),yes)
LDLIBS += -lmetis
endif
ifneq ($(findstring thread,$(SANITIZE)),)
LDLIBS += $(foreach f,parallel atomic_start atomic_end,-Wl,--wrap=GOMP_$f) # tests/openmp_order.c
endif
# MPI's compiler is ours with its own flags added; one file needs it, and what is linked with that.
WITH_MPI := $(if $(HAVE_MPI),OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC),$(CC))
PROGRAM_LIBS := -lmuparser -ljansson -lz

# --- sources -----------------------------------------------------------------------------------------
# The core (physics, meshes, variants, solver) needs BLAS alone; files that read JSON, expressions or write
# VTU belong to the programs. bench/ and meshgen/ hold the mains.
PROGRAM_SOURCES := $(wildcard common/problem/case*.c common/problem/boundary.c common/report/result.c common/mesh/vtu.c)
CORE_SOURCES := $(filter-out $(PROGRAM_SOURCES),$(wildcard common/*.c common/*/*.c variants/*/*.c meshgen/box.c)) \
                $(if $(findstring thread,$(SANITIZE)),tests/openmp_order.c)
CUDA_SOURCES := $(if $(HAVE_CUDA),$(wildcard common/*/*.cu variants/*/*.cu))
ifeq ($(HAVE_CUSPARSE),)
CUDA_SOURCES := $(filter-out variants/assembled_cusparse/%,$(CUDA_SOURCES))
endif
object = $(patsubst %,$(BUILD)/obj/%.o,$(1))
CORE_OBJECTS := $(call object,$(CORE_SOURCES) $(CUDA_SOURCES))
PROGRAM_OBJECTS := $(call object,$(PROGRAM_SOURCES))
RANK_SOURCES := bench/solve.c bench/scaling.c bench/options.c
BENCH_SOURCES := $(filter-out $(RANK_SOURCES),$(wildcard bench/*.c)) $(if $(HAVE_CUDA),$(wildcard bench/*.cu)) oracle/oracle.c
TEST_SOURCES := $(wildcard tests/test_*.c)
TEST_HELPERS := $(filter-out $(TEST_SOURCES) tests/openmp_order.c,$(wildcard tests/*.c)) oracle/oracle.c
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SOURCES))

HAVE_CORE := $(and $(HAVE_BLAS),$(HAVE_LAPACKE))
PROGRAMS := $(if $(HAVE_CORE),$(BUILD)/meshgen $(BUILD)/scaling $(if $(HAVE_PROGRAMS),$(BUILD)/solve) $(if $(HAVE_BENCHMARK),$(BUILD)/kernels))

.PHONY: all info help test run-tests bench storage plots sanitize sanitize-threads format clean deps tests programs
all: info programs
programs: $(PROGRAMS)

help:
	@echo 'make            build what this machine can: programs under $(BUILD)/'
	@echo 'make info       what was found, what is left out and how to get it'
	@echo 'make test       install what is missing, build, run all tests'
	@echo 'make bench      install what is missing, build, verify, time, tabulate, plot, in a few minutes'
	@echo '                FULL=1: all sizes, node orders, shares of plastic elements, redundant element forms'
	@echo '                also BACKENDS="host cuda" ELEMENTS="tet4 hex8" VARIANTS= SIZES_host="25000 100000"'
	@echo '                SIZES_cuda= THREADS= REPETITIONS= RESULTS=results; on several cores or GPUs'
	@echo '                RANKS_host="1 2 4" RANKS_cuda= (0: none), degrees of freedom STRONG_host= STRONG_cuda='
	@echo '                in all, WEAK_host= WEAK_cuda= a rank; again after an interruption: it goes on'
	@echo 'make storage    times ways to store states and tangents, each a build of its own (BACKEND= SIZE= ORDER= VARIANTS=)'
	@echo 'make plots      all tables and figures anew from the committed results'
	@echo 'make sanitize   tests under address and undefined-behaviour sanitizers; compute-sanitizer on a GPU'
	@echo 'make sanitize-threads  operations and ranks on the host under ThreadSanitizer'
	@echo 'make format     clang-format on all sources'
	@echo 'make deps       only install what is missing (Debian packages)'
	@echo 'make clean      remove $(BUILD)/'
	@echo 'variables: BUILD=$(BUILD) ARCH=$(ARCH) CUDA_ARCHS="$(CUDA_ARCHS)" CUDA=yes|no SANITIZE=address,undefined'
	@echo '           STORAGE=FLOATS|FULL|RECORDS|ARRAYS (common/physics/view.h; tests are of the default)'

# A line for each thing that matters: found, or what is left out without it.
report = @printf '%-18s %s\n' '$(1)' '$(if $(2),found$(if $(filter-out yes,$(2)), ($(2))),missing: $(3))'
info:
	$(call report,CUDA toolkit,$(if $(HAVE_CUDA),$(NVCC)$(comma) sm $(CUDA_ARCHS)),the cuda backend is left out; install the CUDA Toolkit 12.8 or newer)
	$(call report,cuSPARSE,$(HAVE_CUSPARSE),assembled_cusparse is left out on GPUs; it comes with the CUDA Toolkit)
	$(call report,BLAS and LAPACK,$(and $(HAVE_BLAS),$(HAVE_LAPACKE)),nothing can be built; apt-get install libopenblas-dev liblapacke-dev)
	$(call report,jansson,$(HAVE_JSON),solve is left out; apt-get install libjansson-dev)
	$(call report,muParser,$(HAVE_EXPRESSION),solve is left out; apt-get install libmuparser-dev)
	$(call report,zlib,$(HAVE_ZLIB),solve is left out; apt-get install zlib1g-dev)
	$(call report,METIS,$(HAVE_METIS),--partition metis is left out; apt-get install libmetis-dev)
	$(call report,Google Benchmark,$(HAVE_BENCHMARK),kernels is left out; apt-get install libbenchmark-dev)
	$(call report,MPI,$(MPICC),ranks are threads of one process only; apt-get install libopenmpi-dev openmpi-bin)
	$(call report,NCCL,$(HAVE_NCCL),one GPU only; it comes with the CUDA Toolkit's repository as libnccl-dev)
	$(call report,cmocka,$(HAVE_CMOCKA),make test cannot run; apt-get install libcmocka-dev)
	$(call report,gnuplot,$(HAVE_GNUPLOT),figures are left out; apt-get install gnuplot-nox)

# Flags in force: objects depend on this file, which changes only when they do.
FLAGS_FILE := $(BUILD)/flags
FLAGS_TEXT := $(CC) $(CFLAGS) $(CXXFLAGS) | $(NVCC) $(NVCCFLAGS) | $(LDLIBS)
$(shell mkdir -p $(BUILD); printf '%s\n' '$(FLAGS_TEXT)' | cmp -s - $(FLAGS_FILE) || printf '%s\n' '$(FLAGS_TEXT)' > $(FLAGS_FILE))
$(shell echo '$(COMMIT)' | cmp -s - $(BUILD)/commit || echo '$(COMMIT)' > $(BUILD)/commit)

$(BUILD)/obj/%.c.o: %.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/obj/%.cu.o: %.cu $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/obj/%.cc.o: %.cc $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/obj/common/ranks/comm_mpi.c.o $(BUILD)/obj/common/report/version.c.o: CC := $(WITH_MPI)
$(BUILD)/obj/common/report/version.c.o: $(BUILD)/commit
$(BUILD)/obj/common/report/version.c.o: CFLAGS += -DFE_COMMIT='"$(COMMIT)"' -DFE_NVCC='"$(if $(HAVE_CUDA),$(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'),none)"' -DFE_FLAGS='"$(OPT) -march=$(ARCH)"'

ifneq ($(findstring thread,$(SANITIZE)),)
# One thread works here, and most of the time: the oracle need not be watched.
$(call object,oracle/oracle.c $(addprefix tests/,scene.c rig.c mechanics.c test_assembly.c)): CFLAGS += -O2 -fno-sanitize=thread
endif

$(BUILD)/libfebench.a: $(CORE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/meshgen: $(call object,meshgen/meshgen.c) $(BUILD)/libfebench.a
	$(WITH_MPI) $(SANITIZE_FLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/solve: $(call object,bench/solve.c bench/options.c) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	$(WITH_MPI) $(SANITIZE_FLAGS) -o $@ $^ $(PROGRAM_LIBS) $(LDLIBS)
$(BUILD)/scaling: $(call object,bench/scaling.c bench/options.c $(BENCH_SOURCES)) $(BUILD)/libfebench.a
	$(WITH_MPI) $(SANITIZE_FLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/kernels: $(call object,bench/kernels.cc $(BENCH_SOURCES)) $(BUILD)/libfebench.a
	$(CXX) $(SANITIZE_FLAGS) -o $@ $^ -lbenchmark $(LDLIBS)
$(BUILD)/tests/%: $(BUILD)/obj/tests/%.c.o $(call object,$(TEST_HELPERS)) $(PROGRAM_OBJECTS) $(BUILD)/libfebench.a
	@mkdir -p $(@D)
	$(WITH_MPI) $(SANITIZE_FLAGS) -o $@ $^ -lcmocka $(PROGRAM_LIBS) $(LDLIBS)
.PRECIOUS: $(BUILD)/obj/%.o

tests: $(PROGRAMS) $(TESTS)

# Debian packages of everything that is used, by what would show that it is there.
DEPS := gcc g++ libopenblas-dev liblapacke-dev libjansson-dev libmuparser-dev zlib1g-dev libmetis-dev \
        libopenmpi-dev openmpi-bin libbenchmark-dev libcmocka-dev gnuplot-nox
deps:
	@sh bench/install.sh $(DEPS) $(if $(WITH_TESTS),python3-vtk9)

# Found libraries are fixed when make starts, so what follows an installation runs in a make of its own.
test:
	@$(MAKE) --no-print-directory deps WITH_TESTS=1
	@$(MAKE) --no-print-directory info
	@$(MAKE) --no-print-directory -j"$$(nproc)" tests
	@$(MAKE) --no-print-directory run-tests
run-tests: tests
	@FE_BUILD=$(BUILD) sh tests/run.sh $(TESTS)

# Host tests under the sanitizers in a build of their own; on a GPU also compute-sanitizer over small kernels.
sanitize:
	@$(MAKE) --no-print-directory deps WITH_TESTS=1
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/sanitize CUDA=no SANITIZE=address,undefined OPT=-O1 run-tests
	@if command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory tests && \
	    for tool in memcheck racecheck; do \
	        compute-sanitizer --tool $$tool --error-exitcode 1 $(BUILD)/tests/test_assembly '*cuda*' || exit 1; done; \
	else echo 'compute-sanitizer: skipped, no GPU'; fi

# Races between the threads of a loop, of all strategies, and between ranks, of one: they share that code. gcc only,
# as tests/openmp_order.c says; -O1 takes minutes for each file.
sanitize-threads: threads := $(BUILD)/threads/tests
sanitize-threads:
	@$(MAKE) --no-print-directory deps WITH_TESTS=1
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/threads CUDA=no SANITIZE=thread OPT=-O0 PROGRAMS= \
	    TESTS='$(threads)/test_assembly $(threads)/test_shares $(threads)/test_ranks' tests
	@FE_BUILD=$(BUILD)/threads sh tests/run.sh $(threads)/test_assembly $(threads)/test_shares
	@for part in 'test_*' 'strip* element_color*'; do $(threads)/test_ranks "$$part" || exit 1; done

# What cannot be installed is named and left out; the sweep says so where kernels is among it.
bench:
	-@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -j"$$(nproc)" programs
	@BUILD='$(BUILD)' sh bench/sweep.sh

# Builds of kernels that differ in what common/physics/view.h says of points.
storage:
	@$(MAKE) --no-print-directory -j"$$(nproc)" $(BUILD)/kernels
	@for storage in FLOATS FULL RECORDS ARRAYS; do \
	    $(MAKE) --no-print-directory -j"$$(nproc)" BUILD='$(BUILD)'/storage/$$storage STORAGE=$$storage \
	        '$(BUILD)'/storage/$$storage/kernels || exit 1; done
	@BUILD='$(BUILD)' sh bench/storage.sh

plots:
	@ls results/*/*/*.csv >/dev/null 2>&1 || echo 'plots: there are no results yet: make bench'
	@for folder in results/*/*; do \
	    for table in table:kernels scaling:scaling storage:storage; do \
	        name=$${table%:*} rows=$$folder/$${table#*:}.csv; \
	        [ ! -f "$$rows" ] || { awk -f bench/$$name.awk "$$rows" >$(BUILD)/table.md && \
	            cp $(BUILD)/table.md "$$folder/$$name.md"; } || exit 1; done; \
	    [ ! -f "$$folder/kernels.csv" ] && [ ! -f "$$folder/scaling.csv" ] || sh plots/plots.sh "$$folder" || exit 1; \
	done

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cu' '*.cc')

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
