# A thin front for the CMake presets; every target is one or two commands you can type yourself.
SHELL := /bin/sh
JOBS ?= 2
P ?= release

.PHONY: help setup build run test test-full bench fuzz lint format check-layers docs clean

help:
	@sed -n 's/^## //p' Makefile

## make setup          install missing packages and fetch the bundled sources
setup:
	@sh tools/setup.sh

## make build [P=release]   build one preset: debug release asan tsan fuzz clang cov
build: setup
	@cmake --preset $(P) >/dev/null && cmake --build --preset $(P) -j $(JOBS)

clean:
	rm -rf build
