# Everything the project can do: `make help` lists it.
SHELL  := /bin/bash
BUILD  ?= build
CC     ?= gcc
SAN    ?=
OPT    ?= -O3
WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wno-sign-compare
CFLAGS ?= $(OPT) $(if $(SAN),-g1,-g) # g1: lines, which is what sanitizers tell; a fifth less to compile
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Isrc -fPIC -fvisibility=hidden -fno-math-errno -fno-trapping-math -ffp-contract=off \
             -MMD -MP $(WARN) $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
LDLIBS = -lyaml -ljansson -lpcre2-8 -ljq -lutf8proc -lz -lzstd -lsqlite3 -lpthread -ldl -lm
# Checks of undefined behaviour put hundreds of thousands of addresses into a program; where it may lie anywhere, each start adapts them all.
LDALL  = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN) $(if $(filter %.so,$@),,-no-pie)) -rdynamic

# A short line per file; V=1 prints the commands instead, -s neither.
V      ?=
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say     = $(if $(filter 1,$(V)),,@$(if $(SILENT),,printf '%-4s %s\n' $(1) '$(2)';))

X86_64   := $(filter x86_64,$(shell uname -m))
CUDA_SRC := $(shell find src -path '*/cuda/*.c' -o -name '*_cuda.c' | sort)
LIB_SRC  := $(filter-out $(CUDA_SRC) $(if $(X86_64),,%_avx2.c %_avx512.c %_amx.c),$(shell find src -name '*.c' | sort))
CLI_SRC  := $(shell find cli -name '*.c' 2>/dev/null | sort)
TEST_SRC := $(shell find tests -name '*.c' -not -path 'tests/fuzz/*' -not -path 'tests/preload/*' -not -path 'tests/adding/*' -not -path 'tests/cuda/*' | sort)
FAST_SRC := $(filter %_fast.c,$(LIB_SRC))
LEVELS   := scalar $(if $(X86_64),avx2 avx512)
OP_LEVELS := $(LEVELS) $(if $(X86_64),avx512_bf16)
TILE_SRC := $(if $(X86_64),$(filter %/head_loss_fast.c %/head_step_fast.c %/attention_fast.c %/attention_grad_fast.c,$(FAST_SRC)))
LIB_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(FAST_SRC),$(LIB_SRC))) \
            $(foreach level,$(LEVELS),$(FAST_SRC:%.c=$(BUILD)/%.$(level).o)) \
            $(patsubst %.c,$(BUILD)/%.avx512_bf16.o,$(filter src/ops/%,$(FAST_SRC))) $(TILE_SRC:%.c=$(BUILD)/%.amx.o)
# With ONLY_LEVEL, code for other instruction sets comes from the usual build, USUAL_LIB. BEST_LEVEL is the best
# that this CPU has; the files of all levels are the same.
CPU_HAS    := $(if $(X86_64),$(shell grep -m 1 '^flags' /proc/cpuinfo))
BEST_LEVEL := $(or $(and $(filter avx512_bf16,$(CPU_HAS)),avx512_bf16 $(if $(filter amx_bf16,$(CPU_HAS)),amx)),$(if $(filter avx512bw,$(CPU_HAS)),avx512),$(if $(filter avx2,$(CPU_HAS)),avx2),scalar)
ONLY_LEVEL ?=
USUAL_LIB  ?= $(BUILD)/libmodalities.a
ifneq ($(ONLY_LEVEL),)
OTHER_LEVELS := $(filter-out $(ONLY_LEVEL),$(OP_LEVELS) amx)
OTHER_SETS   := $(filter-out scalar $(if $(filter avx512_bf16,$(ONLY_LEVEL)),avx512),$(OTHER_LEVELS))
LIB_OBJ := $(filter-out $(addsuffix .o,$(addprefix %.,$(OTHER_LEVELS)) $(addprefix %_,$(OTHER_SETS))),$(LIB_OBJ)) \
           $(if $(filter avx512_bf16,$(ONLY_LEVEL)),$(patsubst %.c,$(BUILD)/%.avx512.o,$(filter-out src/ops/%,$(FAST_SRC))))
LDLIBS  := $(USUAL_LIB) $(LDLIBS)
endif
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/%.o)
TEST_OBJ := $(TEST_SRC:%.c=$(BUILD)/%.o)

.PHONY: all
all: $(BUILD)/modalities $(BUILD)/bin/modalities $(BUILD)/libmodalities.so

# Code for one instruction set runs only where the CPU has it. Files with its name are compiled for it; files *_fast.c are
# written over a vector type (src/ops/vector) and compiled for each: norm_fast.c gives norm_scalar[], norm_avx2[] ...
# Kernels (OP_LEVELS) are compiled with AVX-512's instructions for bf16, too.
# AMX has tiles for products of bf16 alone: only what gains from them, TILE_SRC, is compiled for it, too.
ARCH_scalar := -DLEVEL=CPU_SCALAR -Wno-psabi $(and $(X86_64),$(filter -O3,$(CFLAGS)),-O2) # few x86 have no AVX2, and O2 takes a third less to compile
ARCH_avx2   := -DLEVEL=CPU_AVX2 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mpopcnt
ARCH_avx512 := -DLEVEL=CPU_AVX512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mbmi -mbmi2 -mpopcnt -mprefer-vector-width=512
ARCH_avx512_bf16 := $(patsubst -DLEVEL=%,-DLEVEL=CPU_AVX512_BF16,$(ARCH_avx512)) -mavx512bf16
ARCH_amx    := $(patsubst -DLEVEL=%,-DLEVEL=CPU_AMX,$(ARCH_avx512_bf16)) -mamx-tile -mamx-bf16
$(BUILD)/src/%_avx2.o:   ARCH := $(ARCH_avx2)
$(BUILD)/src/%_avx512.o: ARCH := $(ARCH_avx512)
$(BUILD)/src/%_amx.o:    ARCH := $(ARCH_amx)

define level_rule
$$(BUILD)/%_fast.$(1).o: %_fast.c Makefile | $$(BUILD)/headers
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))$$(CC) $$(ALL_CFLAGS) $$(ARCH_$(1)) -DTABLE=$$(*F)_$(1) -c $$< -o $$@
endef
$(foreach level,$(OP_LEVELS) amx,$(eval $(call level_rule,$(level))))

$(BUILD)/tests/%.o: ALL_CFLAGS += -Itests
# The reference has one thread and results of its own: it is not watched for races. Who reads what kernels have written is.
$(BUILD)/src/ops/reference.o: ALL_CFLAGS += $(if $(filter thread,$(SAN)),-fno-sanitize=thread)
# Before the first file is compiled: one line for a machine on which libraries are missing, instead of many errors.
$(BUILD)/headers:
	@CC="$(CC)" tools/dependencies.sh --headers
	@mkdir -p $(@D) && touch $@

$(BUILD)/%.o: %.c Makefile | $(BUILD)/headers
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) $(ARCH) -c $< -o $@

$(BUILD)/src/config/extend.o: src/config/base_training.yaml

# The page of `modalities board` is a file of its own that board_page.c takes in whole.
$(BUILD)/src/board/board_page.o: src/board/board.html

$(BUILD)/libmodalities.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

# The library for other programs exports what include/modalities.h declares, and nothing else.
$(BUILD)/libmodalities.so: $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(LDALL) -shared -Wl,-soname,libmodalities.so -o $@ $^ $(LDLIBS)

# Plugins are shared objects of their own; the program that uses the library links with it.
EXAMPLES   := $(patsubst examples/%.c,$(BUILD)/examples/%.so,$(filter-out examples/library_usage.c,$(wildcard examples/*.c))) \
              $(BUILD)/examples/library_usage
EXAMPLE_CC  = $(CC) -std=c11 -Iinclude $(WARN) -O2 -g $(if $(SAN),-fsanitize=$(SAN))
$(BUILD)/examples/%.so: examples/%.c include/modalities.h Makefile
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(EXAMPLE_CC) -fPIC -shared -o $@ $< -lm
$(BUILD)/examples/library_usage: examples/library_usage.c include/modalities.h $(BUILD)/libmodalities.so
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(EXAMPLE_CC) -o $@ $< -L$(BUILD) -lmodalities -Wl,-rpath,'$$ORIGIN/..'
# A plugin for another version of the interface, for the tests.
$(BUILD)/tests/other_api.so: examples/lion.c include/modalities.h Makefile
	@mkdir -p $(@D)
	$(call say,LINK,$@)sed 's/\.api = MODALITIES_API/.api = 99/' $< | $(EXAMPLE_CC) -fPIC -shared -o $@ -x c - -lm

$(BUILD)/modalities: $(CLI_OBJ) $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CC) $(LDALL) -o $@ $^ $(LDLIBS)

# What users call: a launcher that torchrun takes as well, and beside it, as after `make install`, the program.
$(BUILD)/bin/modalities: cli/modalities
	@mkdir -p $(@D) $(BUILD)/libexec
	@ln -sf ../modalities $(BUILD)/libexec/modalities
	$(call say,COPY,$@)install -m 755 $< $@

$(BUILD)/tests/all: $(TEST_OBJ) $(filter-out %/main.o,$(CLI_OBJ)) $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CC) $(LDALL) -o $@ $^ -lcmocka $(LDLIBS)

# Libraries that make the N-th write or thread fail, and a small program that is run under them.
SHIMS := $(patsubst tests/preload/%.c,$(BUILD)/tests/%.so,$(wildcard tests/preload/*_shim.c))
$(BUILD)/tests/%_shim.so: tests/preload/%_shim.c Makefile
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -g -fPIC -shared -o $@ $< -ldl

$(BUILD)/tests/save_checkpoints: $(BUILD)/tests/preload/save_checkpoints.o $(BUILD)/tests/checkpoint/sample_state.o $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CC) $(LDALL) -o $@ $^ $(LDLIBS)

# The program is not linked with MPI: it loads this library in ranks that mpirun or srun has started.
MPICC   ?= mpicc
HAS_MPI := $(shell command -v $(MPICC) 2>/dev/null)
.PHONY: mpi
mpi: $(BUILD)/modalities-mpi.so ## build what lets MPI start several ranks; MPICC=/path/to/mpicc
$(BUILD)/modalities-mpi.so: plugins/mpi.c src/comm/mpi_calls.h Makefile
	@mkdir -p $(@D)
	$(call say,MPI,$@)$(MPICC) -std=c11 -D_GNU_SOURCE -Isrc $(WARN) -O2 -g -fPIC -shared -fvisibility=hidden -o $@ $<

$(BUILD)/tests/comm_ranks: $(BUILD)/tests/preload/comm_ranks.o $(BUILD)/tests/comm/comm_cases.o $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CC) $(LDALL) -o $@ $^ $(LDLIBS)

include plugins/cuda.mk

# A program with an op, a pass, a rule of splitting, an optimizer, a model and a pipeline schedule more, as docs/adding.md tells: each is a file of tests/adding and one
# line in a list.
ADDED      := $(sort $(filter-out %_fast.c,$(wildcard tests/adding/*.c tests/adding/*/*.c)))
ADDED_CC    = $(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -Itests/adding
ADDED_LIST := src/ops/all_ops.c src/passes/all_passes.c src/passes/shard_rules.c src/exec/schedules/all_schedules.c src/components.c
$(BUILD)/tests/adding/modalities: $(wildcard tests/adding/*.* tests/adding/*/*.*) $(ADDED_LIST) $(CLI_OBJ) $(BUILD)/libmodalities.a Makefile
	@mkdir -p $(@D)
	@sed 's/^    OPS(rope)/    OPS(soft_cap) KERNELS(soft_cap) \\\n&/' src/ops/all_ops.c >$(@D)/all_ops.c
	@sed 's/^    PASS(autodiff)/    PASS(drop_scale) \\\n&/' src/passes/all_passes.c >$(@D)/all_passes.c
	@sed 's/^    { "heads"/    { "words", MESH_TP, is_tensor },\n&/' src/passes/shard_rules.c >$(@D)/shard_rules.c
	@sed 's/^    SCHEDULE(gpipe)/    SCHEDULE(one_at_a_time) \\\n&/' src/exec/schedules/all_schedules.c >$(@D)/all_schedules.c
	@sed -e 's/^    COMPONENT(model_compiled)/    COMPONENT(model_bigram) \\\n&/' \
	    -e 's/^    COMPONENT(progress_subscriber_dummy)/    COMPONENT(optimizer_lion) \\\n&/' src/components.c >$(@D)/components.c
	@$(foreach level,$(OP_LEVELS),$(ADDED_CC) $(ARCH_$(level)) -DTABLE=soft_cap_$(level) -c tests/adding/ops/soft_cap_fast.c -o $(@D)/soft_cap_$(level).o &&) true
	$(call say,LINK,$@)$(ADDED_CC) $(LDALL) -o $@ $(ADDED) $(addprefix $(@D)/,$(notdir $(ADDED_LIST))) $(OP_LEVELS:%=$(@D)/soft_cap_%.o) \
	    $(CLI_OBJ) $(BUILD)/libmodalities.a $(LDLIBS)

.PHONY: tests
tests: $(BUILD)/tests/all $(BUILD)/modalities $(BUILD)/bin/modalities $(SHIMS) $(BUILD)/tests/save_checkpoints $(BUILD)/tests/comm_ranks $(if $(HAS_MPI),$(BUILD)/modalities-mpi.so) $(BUILD)/tests/adding/modalities $(EXAMPLES) $(BUILD)/tests/other_api.so

.PHONY: test
test: DEPS += mpi
test: dependencies ## build and run every test; T="passes ops" chooses
	@$(MAKE) --no-print-directory -j$(shell nproc) tests
	MODALITIES_PROGRAM=$(BUILD)/modalities $(BUILD)/tests/all $(T)

# Each bench/NAME.c is a program, but for those that all of them may use.
BENCH_LIB := bench/measure.c bench/corpus.c bench/bare_step.c bench/model.c bench/step_profile.c
BENCH_SRC := $(filter-out $(BENCH_LIB),$(wildcard bench/*.c))
BENCH     ?= $(BENCH_SRC:bench/%.c=%)

.PHONY: bench benches
benches: $(BENCH_SRC:bench/%.c=$(BUILD)/bench/%) ## build the benchmarks
bench: $(BENCH:%=$(BUILD)/bench/%) ## build and run the benchmarks; BENCH="gemm limits" chooses
	@for name in $(BENCH); do $(BUILD)/bench/$$name || exit 1; echo; done

TEXTS      ?=
TOKENIZERS ?=
.PHONY: bench-tokenizer
bench-tokenizer: $(BUILD)/bench/tokenizer ## encoding beside the tokenizers that PYTHON= can import; TEXTS="FILE ..." TOKENIZERS="PATH ..."
	$(BUILD)/bench/tokenizer $(TOKENIZERS:%=-t %) $(TEXTS)

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BENCH_LIB:%.c=$(BUILD)/%.o) $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CC) $(LDALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS)

$(BUILD)/bench/start $(BUILD)/bench/ablations: $(BUILD)/modalities
$(BUILD)/bench/ranks: $(BUILD)/modalities | mpi
$(BUILD)/bench/ops $(BUILD)/bench/gpu: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/ops/*_cases.c)) $(BUILD)/tests/ops/op_run.o

.PHONY: docs
docs: tests ## write the generated pages of docs/ anew
	MODALITIES_GENERATE=1 $(BUILD)/tests/all generated page_of

.PHONY: graphs
graphs: tests ## write the printed graphs of tests/golden/graphs anew; git shows what changed
	MODALITIES_GENERATE=1 $(BUILD)/tests/all golden/test_graphs

# Each tests/fuzz/fuzz_NAME.c is a libFuzzer target; its seeds lie in tests/fuzz/NAME/. The layers that read what comes
# from outside are compiled for it, the few others that they lead to come from the usual build.
FUZZ_SECONDS ?= 60
FUZZ         ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LAYERS  := base config tensor models tokenizer template data checkpoint
FUZZ_BUILD   := $(BUILD)-fuzz
FUZZ_SAN     := address,undefined

.PHONY: fuzz $(FUZZ:%=fuzz-%)
fuzz: $(BUILD)/libmodalities.a ## fuzz every parser for FUZZ_SECONDS (60) each, as many at once as make's -j; FUZZ="safetensors manifest" chooses
	$(MAKE) BUILD=$(FUZZ_BUILD) USUAL_LIB=$< CC=clang OPT=-O1 SAN=fuzzer-no-link,$(FUZZ_SAN) $(FUZZ:%=$(FUZZ_BUILD)/tests/fuzz/fuzz_%)
	@$(MAKE) --output-sync=target $(FUZZ:%=fuzz-%)
$(FUZZ:%=fuzz-%): fuzz-%:
	@mkdir -p $(FUZZ_BUILD)/found/$* tests/fuzz/$* && echo "fuzz $*"
	@$(FUZZ_BUILD)/tests/fuzz/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=$(FUZZ_BUILD)/$*- $(FUZZ_BUILD)/found/$* tests/fuzz/$*

$(BUILD)/libfuzzed.a: $(foreach layer,$(FUZZ_LAYERS),$(filter $(BUILD)/src/$(layer)/%,$(LIB_OBJ)))
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/libfuzzed.a
	$(call say,LINK,$@)$(CC) $(LDALL) -fsanitize=fuzzer -o $@ $^ $(USUAL_LIB) $(LDLIBS)

.SECONDARY:

.PHONY: format
format: ## let clang-format lay out every file, those not yet added to git included
	@tools/files.sh '*.c' '*.h' | xargs clang-format -i

.PHONY: clean
clean:
	rm -rf $(BUILD) $(BUILD)-*

DEPS ?=
.PHONY: dependencies
dependencies: ## install missing Debian packages; DEPS="check", "mpi" or "cuda" adds those sets
	@BUILD=$(BUILD) tools/dependencies.sh build $(DEPS)

.PHONY: demo
demo: ## tokenizer, packing, training, resuming and generation on real text, in minutes
	@tools/dependencies.sh build demo
	@$(MAKE) --no-print-directory -s -j$(shell nproc) all
	@BUILD=$(BUILD) tools/demo.sh

.PHONY: check-two-hosts
check-two-hosts: tests mpi ## MPI ranks on two hosts made of network namespaces; needs root and iproute2
	@BUILD=$(BUILD) tools/check_two_hosts.sh

.PHONY: demo-ablation
demo-ablation: ## a sweep over settings and seeds on real text, and what it shows (docs/ablations.md)
	@tools/dependencies.sh build demo
	@$(MAKE) --no-print-directory -s -j$(shell nproc) all
	@BUILD=$(BUILD) tools/demo_ablation.sh

.PHONY: check-layouts
check-layouts: tests ## all products of layouts, and 1,000 chosen at random: N ranks equal one
	LAYOUTS=1000 $(BUILD)/tests/all --timeout 3600 layouts/

.PHONY: kill-test
kill-test: tests ## kill training and data commands at hundreds of writes and moments, resume, compare bits
	MODALITIES_PROGRAM=$(BUILD)/modalities KILL_TEST=long $(BUILD)/tests/all --show --timeout 3600 kill

PREFIX ?= /usr/local
INTO    = $(DESTDIR)$(PREFIX)
.PHONY: install uninstall
install: all ## install the program and its configurations below PREFIX
	install -D -m 755 $(BUILD)/modalities $(INTO)/libexec/modalities
	install -D -m 755 cli/modalities $(INTO)/bin/modalities
	install -D -m 644 include/modalities.h $(INTO)/include/modalities.h
	install -D -m 644 $(BUILD)/libmodalities.so $(INTO)/lib/libmodalities.so
	[ ! -e $(BUILD)/modalities-cuda.so ] || install -D -m 644 $(BUILD)/modalities-cuda.so $(INTO)/lib/modalities/modalities-cuda.so
	[ ! -e $(BUILD)/modalities-mpi.so ] || install -D -m 644 $(BUILD)/modalities-mpi.so $(INTO)/lib/modalities/modalities-mpi.so
	mkdir -p $(INTO)/share/man/man1 $(INTO)/share/bash-completion/completions $(INTO)/share/fish/vendor_completions.d
	$(BUILD)/modalities docs man >$(INTO)/share/man/man1/modalities.1
	$(BUILD)/modalities completion bash >$(INTO)/share/bash-completion/completions/modalities
	$(BUILD)/modalities completion fish >$(INTO)/share/fish/vendor_completions.d/modalities.fish
	mkdir -p $(INTO)/share/modalities && cp -r configs $(INTO)/share/modalities/

uninstall: ## remove what install put below PREFIX
	rm -f $(INTO)/bin/modalities $(INTO)/libexec/modalities $(INTO)/lib/modalities/modalities-mpi.so $(INTO)/lib/modalities/modalities-cuda.so \
	    $(INTO)/include/modalities.h $(INTO)/lib/libmodalities.so \
	    $(INTO)/share/man/man1/modalities.1 $(INTO)/share/bash-completion/completions/modalities \
	    $(INTO)/share/fish/vendor_completions.d/modalities.fish
	[ ! -d $(INTO)/lib/modalities ] || rmdir --ignore-fail-on-non-empty $(INTO)/lib/modalities
	rm -rf $(INTO)/share/modalities/configs
	[ ! -d $(INTO)/share/modalities ] || rmdir --ignore-fail-on-non-empty $(INTO)/share/modalities

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST:%.d=) | sed 's/:.*## /\t/' | expand -t 16

# Everything that must hold beside the tests. Each part can be run alone. The tests of tests/large.txt are left out under the
# address sanitizer, those of tests/long.txt under that of threads, where only THREADED run: the others have one thread.
THREADED  := base/test_base comm/ ops/test_kernels ops/test_unit data/ tokenizer/test_commands tokenizer/test_train.c tokenizer/test_sentencepiece_train exec/ device/ layouts/test_transfers layouts/test_ahead layouts/test_pipeline train/test_lost_data test_ranks test_shares test_staging test_state_saving test_background

.PHONY: check check-bad-paths check-cuda check-format check-layers check-levels check-docs check-warnings check-lint check-address check-thread check-fuzz
check: check-format check-layers check-levels check-bad-paths check-docs check-warnings check-lint check-address check-thread check-fuzz check-cuda ## all checks

check-format:
	@tools/check_format.sh
check-layers:
	@tools/check_layers.sh
# What a machine with the next lower instruction sets computes. Left out are kernels and products, which are tested for each set anyway, plans,
# and families on ranks, whose kernels and layouts the other tests have, too.
check-levels: tests
	@if grep -q avx512_bf16 /proc/cpuinfo; then for level in avx512 avx512_bf16 avx512_pairs; do MODALITIES_CPU=$$level $(BUILD)/tests/all golden/test_models passes/ train/test_generation || exit 1; done; fi
	@if grep -q avx512 /proc/cpuinfo; then MODALITIES_CPU=avx2 MODALITIES_PROGRAM=$(BUILD)/modalities $(BUILD)/tests/all --without test_job_plan --without fenced --without ops/test_kernels.c:*kernels --without ops/test_gemm --without every_family_learns golden/ layouts/ models/ train/ generation exec/ ops/; \
	else MODALITIES_CPU=scalar $(BUILD)/tests/all golden/test_models; fi
# every option of every command with bad paths and values
check-bad-paths: $(BUILD)/modalities
	@BUILD=$(BUILD) tools/bad_paths.sh
check-docs:
	@tools/check_docs.sh
# of what C++ reads and of benchmarks; the others of C are errors of check-address
check-warnings:
	$(MAKE) CFLAGS="$(CFLAGS) -Werror" $(patsubst %.c,$(BUILD)/%.o,$(wildcard bench/*.c))
	for header in device/device.h tensor/tensor.h; do \
	    $(CXX) -std=c++17 -Isrc -Wall -Wextra -Werror -fsyntax-only -x c++ src/$$header || exit 1; \
	done
check-lint:
	@tools/lint.sh
# Under the address sanitizer kernels are those of the best instruction sets alone: each of their files takes long to compile.
.PHONY: best-level
best-level:
	@echo $(BEST_LEVEL)
OF_LEVEL_scalar      := ops/test_kernels.c:portable_ ops/test_gemm.c:*portable
OF_LEVEL_avx2        := ops/test_kernels.c:avx2_ ops/test_gemm.c:*avx2
OF_LEVEL_avx512      := ops/test_kernels.c:avx512_ ops/test_gemm.c:avx512_products ops/test_gemm.c:*alone_avx512
ADDRESS_WITHOUT      := $(foreach level,$(filter-out $(BEST_LEVEL),scalar avx2 avx512),$(OF_LEVEL_$(level)))
check-address: $(BUILD)/libmodalities.a
	$(MAKE) BUILD=$(BUILD)-address USUAL_LIB=$< ONLY_LEVEL="$(BEST_LEVEL)" OPT="-O1 -Werror" SAN=address,undefined tests
	MODALITIES_PROGRAM=$(BUILD)-address/modalities $(BUILD)-address/tests/all --again --without @tests/large.txt $(ADDRESS_WITHOUT:%=--without %)
.PHONY: check-board
check-board: $(BUILD)/modalities ## open the board of many runs in headless Chromium; the screenshots are for eyes
	@BUILD=$(BUILD) tools/check_board.sh
.PHONY: check-interchange
PYTHON ?= python3
check-interchange: $(BUILD)/modalities ## checkpoints to torch, the original and back, exports and results read: by the libraries that PYTHON= can import
	@for test in torch:torch_and_back modalities.main:modalities_goes_on transformers:transformers_loads_exports transformers:families wandb,tensorboard:wandb_and_tensorboard; do \
	    if $(PYTHON) -c "import $${test%%:*}" 2>/dev/null; \
	    then $(PYTHON) -W ignore tests/interchange/$${test#*:}.py $(BUILD)/modalities || exit 1; \
	    else echo "$${test#*:}: skipped, $(PYTHON) cannot import $${test%%:*} (PYTHON= names another one)"; fi; done
.PHONY: check-random
SEEDS ?= 1-50
check-random: $(BUILD)/modalities ## random decoders on random meshes equal one rank, random models of all families equal transformers' where PYTHON= can import it; SEEDS=1-50
	@$(PYTHON) tests/layouts/random_meshes.py $(BUILD)/modalities $(SEEDS)
	@if $(PYTHON) -c "import transformers" 2>/dev/null; \
	then $(PYTHON) -W ignore tests/interchange/families.py $(BUILD)/modalities random:$(SEEDS); \
	else echo "families: skipped, $(PYTHON) cannot import transformers (PYTHON= names another one)"; fi
# Kernels for one instruction set alone: the files of all levels are the same, and share work among threads in the same way. Products in tiles of
# AMX have loops of their own around (few_rows_amx.h), which no test runs here.
check-thread: LEVEL := $(if $(X86_64),avx2,scalar)
check-thread: $(BUILD)/libmodalities.a
	$(MAKE) BUILD=$(BUILD)-thread USUAL_LIB=$< ONLY_LEVEL=$(LEVEL) OPT=-O1 SAN=thread tests
	MODALITIES_CPU=$(LEVEL) MODALITIES_PROGRAM=$(BUILD)-thread/modalities $(BUILD)-thread/tests/all --again --without @tests/long.txt $(THREADED)
check-fuzz:
	$(MAKE) fuzz FUZZ_SECONDS=5

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d) \
    $(wildcard $(BUILD)/tests/fuzz/*.d $(BUILD)/tests/preload/*.d $(BUILD)/bench/*.d)
