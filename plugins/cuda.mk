# cuda.mk - building what brings GPUs, and its tests on a mock of CUDA; a part of the Makefile.
CUDA_RULES := Makefile plugins/cuda.mk
# GPUs are brought by a library of their own: host code in C, and the kernels of *.cu as images for several GPUs.
CUDA_HOME  ?= $(firstword $(wildcard /usr/local/cuda $(BUILD)/cuda) /usr/local/cuda)
NVCC        = $(CUDA_HOME)/bin/nvcc
HAS_CUDA   := $(wildcard $(CUDA_HOME)/bin/nvcc)
CUDA_ARCH  := -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90
CUDA_BUILD := $(BUILD)/gpu
CUDA_CORE  := base/arena base/clock base/environment base/error base/file base/map base/memory base/str base/temporary_file comm/waiting \
              ops/attention_ring_run ops/collective_rows ops/contract_pieces_run ops/float8_grid ops/gemm/product ops/moves ops/rope_frequency ops/vocabulary tensor/dims tensor/dtype tensor/tensor
CUDA_OBJ    = $(patsubst %.c,$(CUDA_BUILD)/%.o,plugins/cuda.c $(CUDA_SRC)) $(CUDA_CORE:%=$(BUILD)/src/%.o)
CUDA_KERNEL = $(patsubst %.cu,$(CUDA_BUILD)/%.fatbin,$(shell find src -name '*.cu' | sort))
.PHONY: cuda
cuda: $(BUILD)/modalities $(BUILD)/modalities-cuda.so ## build what brings GPUs; CUDA_HOME=/path/to/cuda
$(CUDA_BUILD)/%.o: %.c $(CUDA_RULES)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -isystem $(CUDA_HOME)/include -c $< -o $@
# ptxas tells how many registers each kernel takes, and what it had to keep in memory instead
$(CUDA_BUILD)/%.fatbin: %.cu $(CUDA_RULES)
	@mkdir -p $(@D)
	$(call say,NVCC,$<)$(NVCC) -std=c++17 -O3 $(KERNEL_FLAGS) -Isrc $(CUDA_ARCH) -Xptxas -v -MMD -MF $(@:.fatbin=.d) -MT $@ -fatbin $< -o $@ 2>$(@:.fatbin=.ptxas) || { cat $(@:.fatbin=.ptxas); exit 1; }
# the same bits for parameters in halves and whole: the compiler must not choose where to fuse a product and a sum
$(CUDA_BUILD)/src/ops/adam.fatbin: KERNEL_FLAGS = --fmad=false
$(CUDA_BUILD)/images.c: $(CUDA_KERNEL)
	@{ echo '#include <stddef.h>'; \
	   n=0; for f in $^; do \
	       echo "__asm__(\".section .rodata\\n.balign 16\\nimage_$$n:\\n.incbin \\\"$$f\\\"\\n.previous\");"; \
	       echo "extern const char image_$$n[] __attribute__((visibility(\"hidden\")));"; n=$$((n+1)); done; \
	   echo 'extern const void *const cuda_images[]; const void *const cuda_images[] = {'; \
	   i=0; while [ $$i -lt $$n ]; do echo "image_$$i,"; i=$$((i+1)); done; echo 'NULL };'; } >$@
$(BUILD)/modalities-cuda.so: $(CUDA_OBJ) $(CUDA_BUILD)/images.c
	$(call say,LINK,$@)$(CC) -std=c11 -fPIC -shared -fvisibility=hidden $(if $(SAN),-fsanitize=$(SAN)) -Wl,-z,now -Wl,--no-undefined -o $@ $^ -lm -ldl -lpthread

# The same library over a mock of CUDA: kernels run in an emulator, so that all of it is tested without a GPU.
MOCK_OBJ    = $(filter-out %/cuda_calls.o,$(CUDA_OBJ)) $(CUDA_BUILD)/tests/cuda/mock.o $(CUDA_BUILD)/tests/cuda/mock_products.o $(CUDA_BUILD)/tests/cuda/mock_graphs.o \
              $(CUDA_BUILD)/tests/cuda/mock_nccl.o $(CUDA_BUILD)/tests/cuda/mock_ranges.o \
              $(CUDA_BUILD)/tests/cuda/emulator.o $(patsubst %.cu,$(CUDA_BUILD)/%.emulated.o,$(shell find src -name '*.cu' | sort))
EMULATED    = $(CXX) -std=c++17 -D_GNU_SOURCE -Isrc -Itests/cuda -isystem $(CUDA_HOME)/include -O2 -g -fPIC -fvisibility=hidden -fno-exceptions \
              -fno-strict-aliasing -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas -MMD -MP $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)
$(CUDA_BUILD)/tests/cuda/%.o: ALL_CFLAGS += -Itests/cuda -Itests -Itests/ops
$(CUDA_BUILD)/tests/cuda/emulator.o: tests/cuda/emulator.cpp $(CUDA_RULES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(EMULATED) -c $< -o $@
$(CUDA_BUILD)/%.emulated.o: %.cu $(CUDA_RULES)
	@mkdir -p $(@D)
	$(call say,CXX,$< (emulated))$(EMULATED) -x c++ -c $< -o $@
$(BUILD)/modalities-cuda-mock.so: $(MOCK_OBJ) $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CXX) -shared $(if $(SAN),-fsanitize=$(SAN)) -Wl,-z,now -Wl,-Bsymbolic -o $@ $^ -lm -ldl -lpthread

# Plans of cuDNN for a GPU that is described, beside a stand-in for the driver.
PLANS = $(BUILD)/tests/plans
PLAN_OBJ = $(CUDA_BUILD)/tests/cuda/plans.o $(CUDA_BUILD)/src/ops/attention_graph_cuda.o $(CUDA_BUILD)/src/device/cuda/cudnn_graph.o \
           $(BUILD)/libmodalities.a
$(PLANS)/libcuda.so.1: tests/cuda/described_gpu.c $(CUDA_RULES)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=c11 $(WARN) -Wno-builtin-declaration-mismatch -O1 -fPIC -shared -o $@ $<
$(PLANS)/cuda_plans: $(PLAN_OBJ) $(PLANS)/libcuda.so.1
	$(call say,LINK,$@)$(CC) -o $@ $(PLAN_OBJ) -ldl -lpthread

CUDA_TEST_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/cuda/test_*.c) tests/cuda/device_calls.c tests/comm/comm_cases.c \
                tests/comm/rank_threads.c tests/layouts/layout.c tests/models/families.c tests/train/forced_model.c tests/tokenizer/small_tokenizer.c tests/passes/tiny_model.c tests/runner.c tests/stored.c \
                tests/end_to_end/training.c tests/golden.c tests/golden/compare.c tests/golden/test_training.c $(wildcard tests/ops/*_cases.c) tests/ops/op_run.c tests/ops/op_split.c tests/ops/kernel_check.c tests/ops/halves_check.c)
$(CUDA_TEST_OBJ): ALL_CFLAGS += -Itests/ops -Itests/comm
# what of the library is tested by itself
$(BUILD)/tests/cuda_all: $(CUDA_TEST_OBJ) $(CUDA_BUILD)/src/device/cuda/algorithm_cache.o $(CUDA_BUILD)/src/device/cuda/algorithm_record.o $(BUILD)/libmodalities.a
	$(call say,LINK,$@)$(CC) $(LDALL) -o $@ $^ -lcmocka $(LDLIBS)

.PHONY: gpu-bundle gpu-check gpu-bench
gpu-bundle: cuda $(BUILD)/tests/cuda_all $(BUILD)/bench/gpu ## put what a GPU machine needs to check this into BUILD/gpu-bundle
	@BUILD=$(BUILD) tools/gpu_bundle.sh
gpu-check: gpu-bundle ## check it on the GPU of this machine
	@$(BUILD)/gpu-bundle/gpu-check
gpu-bench: gpu-bundle ## measure the GPU of this machine: kernels, whole steps, PyTorch beside
	@$(BUILD)/gpu-bundle/gpu-bench

check-cuda:
	@BUILD=$(BUILD) CUDA_HOME=$(CUDA_HOME) tools/check_cuda.sh

-include $(shell find $(CUDA_BUILD) -name '*.d' 2>/dev/null)
-include $(CUDA_TEST_OBJ:.o=.d)
