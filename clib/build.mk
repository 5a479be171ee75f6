# SPDX-License-Identifier: MIT
# build.mk - builds the C core; used by the Makefile, by setup.py and by the tests.
#
#   make -f clib/build.mk BUILD=dir lib         dir/liblocklab.a
#   make -f clib/build.mk BUILD=dir ctests      dir/tests/NAME for each tests/c/NAME.c; those named
#                                               script_* with the test build of the locks besides
#   make -f clib/build.mk BUILD=dir print-libs  what a program that uses the library links with
#
# Options: CC=, CFLAGS_EXTRA=, SAN=address|thread, WERROR=1, NO_PFM=1, NO_CK=1.
# Each lock, workload and client is compiled once per engine build; everything else once.

comma := ,
BUILD ?= build/clib
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
AR ?= ar
PKG_CONFIG ?= pkg-config
PICFLAG ?= -fPIC

# The archive must be linked whole: the registry finds locks by weak symbols, which do not pull.
LIB := $(BUILD)/liblocklab.a

has_header = $(shell $(CC) -E -xc -include $(1) /dev/null >/dev/null 2>&1 && echo 1)
HAVE_PFM := $(if $(NO_PFM),,$(call has_header,perfmon/pfmlib_perf_event.h))
HAVE_CK := $(if $(NO_CK),,$(call has_header,ck_spinlock.h))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers
CFLAGS_ALL := -std=gnu11 -O2 -g -fno-omit-frame-pointer -fvisibility=hidden -pthread $(PICFLAG) $(WARNINGS) \
  $(if $(WERROR),-Werror) -Iclib $(if $(HAVE_PFM),-DHAVE_PFM=1) $(if $(HAVE_CK),-DHAVE_CK=1) \
  $(if $(filter address,$(SAN)),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined) \
  $(if $(filter thread,$(SAN)),-fsanitize=thread) $(CFLAGS) $(CFLAGS_EXTRA)
LIBS := -lhwloc $(if $(HAVE_PFM),-lpfm) -lpthread -lm

CORE := $(sort $(wildcard clib/core/*.c clib/engine/*.c clib/engine/check/*.c clib/metrics/*.c clib/check/*.c clib/validate/*.c) $(filter-out clib/run/worker.c,$(wildcard clib/run/*.c)))
HOST := $(sort $(wildcard clib/locks/host/*.c))
HOST := $(if $(HAVE_CK),$(HOST),$(filter-out clib/locks/host/ck-%,$(HOST)))
LOCKS := $(sort $(filter-out clib/locks/host/%,$(wildcard clib/locks/*/*.c)))
WORKLOADS := $(sort $(wildcard clib/workloads/*.c))
CLIENTS := $(sort $(wildcard clib/clients/*.c))

# engine build: flags, and which per-engine sources it takes
NATIVE_SOURCES := $(LOCKS) $(HOST) $(WORKLOADS) $(CLIENTS) clib/run/worker.c
FLAGS_native := -DLL_BUILD=native
FLAGS_bare := -DLL_BUILD=bare -DENG_BARE
FLAGS_probed := -DLL_BUILD=probed -DENG_PROBED
FLAGS_virtual := -DLL_BUILD=virtual -DENG_VIRTUAL
SOURCES_native := $(NATIVE_SOURCES)
SOURCES_bare := $(NATIVE_SOURCES)
SOURCES_probed := $(NATIVE_SOURCES)
SOURCES_virtual := $(LOCKS) $(WORKLOADS) $(CLIENTS)
BUILDS := native bare probed virtual
# Native with sync points, at which a script can hold a thread: no part of the library.
FLAGS_test := -DLL_BUILD=test -DENG_TEST
TEST_OBJECTS := $(LOCKS:clib/%.c=$(BUILD)/test/%.o)

OBJECTS := $(CORE:clib/%.c=$(BUILD)/core/%.o)

define BUILD_RULES
$$(BUILD)/$(1)/%.o: clib/%.c $$(BUILD)/flags
	@mkdir -p $$(@D)
	@$$(CC) $$(CFLAGS_ALL) $$(FLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach b,$(BUILDS) test,$(eval $(call BUILD_RULES,$(b))))
OBJECTS += $(foreach b,$(BUILDS),$(SOURCES_$(b):clib/%.c=$(BUILD)/$(b)/%.o))

.PHONY: lib ctests print-libs
lib: $(LIB)

# the descriptor of the once-compiled part is that of the native build
$(BUILD)/core/%.o: clib/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) $(if $(findstring /virtual,$<),$(FLAGS_virtual),$(FLAGS_native)) \
	  -DLL_CFLAGS='"$(filter-out -I% -D% -W%,$(CFLAGS_ALL))"' -MMD -MP -c $< -o $@

# changes when the compiler or a flag changes, so that nothing stale is linked
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(CFLAGS_ALL)' | cmp -s - $@ || echo '$(CC) $(CFLAGS_ALL)' >$@
.PHONY: FORCE
FORCE:

# the list of members too: a lock file that was deleted must leave the archive
$(BUILD)/members: FORCE
	@mkdir -p $(BUILD)
	@echo '$(OBJECTS)' | cmp -s - $@ || echo '$(OBJECTS)' >$@

# What each lock was built from, without comments: a schedule found by the checker carries it.
CODE := $(sort $(wildcard clib/locks/*/*_tmpl.h clib/core/lock.h clib/core/client.h clib/clients/* clib/engine/*.h clib/engine/check/*))
$(BUILD)/code_hash.c: $(LOCKS) $(CODE) clib/build.mk
	@mkdir -p $(@D)
	@{ echo '#include "core/code_hash.h"'; echo 'const struct ll_code_hash ll_code_hashes[] = {'; \
	for f in $(LOCKS); do id=$${f#clib/locks/}; \
	  echo "    {\"$${id%.c}\", 0x$$(cat $$f $(CODE) | gcc -fpreprocessed -dD -E -P -xc - 2>/dev/null | sha256sum | cut -c1-6)},"; done; \
	echo '    {0, 0}};'; } >$@
$(BUILD)/core/code_hash.o: $(BUILD)/code_hash.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@
OBJECTS += $(BUILD)/core/code_hash.o

$(LIB): $(OBJECTS) $(BUILD)/members
	@rm -f $@
	@$(AR) rcs $@ $(OBJECTS)

TESTS := $(patsubst tests/c/%.c,$(BUILD)/tests/%,$(wildcard tests/c/*.c))
ctests: $(TESTS)
$(BUILD)/tests/script_%: PLUS := $(TEST_OBJECTS)
$(filter $(BUILD)/tests/script_%,$(TESTS)): $(TEST_OBJECTS)
$(BUILD)/tests/%: tests/c/%.c $(LIB)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_ALL) $(FLAGS_native) -Itests/c -MMD -MP -MF $@.d $< $(PLUS) -Wl,--whole-archive $(LIB) \
	  -Wl,--no-whole-archive $(LIBS) -o $@

print-libs:
	@echo $(LIBS)

-include $(OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(TESTS:=.d)
