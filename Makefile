# A thin front for the CMake presets; every target is one or two commands you can type yourself.
SHELL := /bin/sh
JOBS ?= $(shell nproc)
P ?= release
T ?= 60
B ?=

# $(call build,PRESET,OPTIONS): configures once (ninja looks after changed lists of files itself), then builds.
define build
@[ build/$(1)/build.ninja -nt CMakePresets.json ] || cmake --preset $(1) >/dev/null
@cmake --build --preset $(1) -j $(JOBS) $(2) 2>&1 | tools/build_progress.sh
endef

.PHONY: help setup build run services deb test test-full check-lib check-clang bench fuzz lint format check-layers docs clean

help:
	@sed -n 's/^## //p' Makefile

## make run                  the dev network on port 8545, in the foreground (ARGS="--flag ..." adds flags)
run:
	@BUILD_ONLY=1 sh tools/setup.sh
	$(call build,release,--target candela)
	@exec build/release/bin/candela --network-id=dev $(ARGS)

## make services             ad exchange (8080, miner 8081), pricing gateway (8082) and webhooks (8091 to 8093), each with what it needs, to try out
services:
	@BUILD_ONLY=1 sh tools/setup.sh
	$(call build,release,--target candela candela-pricing candela-webhooks candela-adx)
	@tests/try.py build/release/bin

## make deb                  build/deb/candela*.deb of the node, pricing, webhooks and the ad exchange: program, hardened systemd unit
deb:
	@BUILD_ONLY=1 sh tools/setup.sh
	$(call build,release,--target candela candela-cli candela-evm candela-pricing candela-webhooks candela-adx)
	@packaging/deb.sh build/release/bin/candela build/deb
	@packaging/deb.sh build/release/bin/candela-pricing build/deb
	@packaging/deb.sh build/release/bin/candela-webhooks build/deb
	@packaging/deb.sh build/release/bin/candela-adx build/deb

## make test                 unit, vector, fuzz-replay and end-to-end tests, sanitizers on
test: setup
	$(call build,asan)
	$(call build,tsan,--target tsan_tests)
	$(call build,release)
	@tools/test.py

## make check-lib L=net      tests of one library, building only what they need: L=store, L=chains/evmchain, L=services/webhook, …
check-lib: setup
	@[ -n "$(L)" ] || { echo "which library? make check-lib L=net: a folder of src/ or services/"; exit 2; }
	$(call build,asan,--target tests_$(subst /,_,$(L)))
	@ctest --test-dir build/asan --output-on-failure --no-label-summary --no-tests=error -j $(JOBS) \
	    -L '^lib-$(subst /,_,$(L))$$'

## make test-full            the same without sampling: slow state tests, long kill and differential runs
test-full: setup
	$(call build,asan)
	$(call build,tsan,--target tsan_tests)
	$(call build,release)
	@tools/test.py --full

## make bench [B=group]      evm, worst, crypto, trie, import, rpc, ws, proc, pricing, webhooks, adx: JSON lines into build/bench/, a table beside the peers
bench: setup
	$(call build,release,--target candela candela-evmtool candela-pricing bench-transfers bench-subscribers bench-deliveries bench-first-byte \
		bench-webhook-match bench-proofs candela-webhooks candela-adx)
	@bench/run.py $(B)

## make fuzz F=name T=60     one fuzzer for T seconds (clang, address sanitizer)
fuzz: setup
	$(call build,fuzz,--target $(F)_fuzz)
	@mkdir -p build/fuzz-corpus/$(F)
	build/fuzz/fuzz/$(F)_fuzz -max_total_time=$(T) -timeout=20 -rss_limit_mb=4096 \
	    $(addprefix -dict=,$(wildcard fuzz/dict/$(F))) build/fuzz-corpus/$(F) fuzz/corpus/$(F)

## make build [P=release]    one preset: debug release asan tsan fuzz clang cov
build: setup
	$(call build,$(P))

## make check-clang          the programs built by clang, whose warnings are errors too (tests and fuzzers: P=clang, make fuzz)
check-clang: setup
	$(call build,clang,--target candela candela-cli candela-evmtool candela-pricing candela-webhooks candela-adx)

## make lint                 formatting, layers, spec anchors, clang-tidy on changed files (ALL=1: every file)
lint: setup
	@tools/lint.sh

## make format               apply clang-format
format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

## make check-layers         includes and link edges against cmake/layers.cmake
check-layers:
	@tools/check_layers.py

## make docs                 API reference into build/docs/html (Doxygen, warnings are errors)
docs: setup
	@tools/check_docs.py --html

## make setup                install missing packages, fetch the bundled sources
setup:
	@sh tools/setup.sh

## make clean                remove build/
clean:
	rm -rf build
