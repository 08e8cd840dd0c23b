# First contact. CMake does the work; these are the commands in the order in which one meets them.
PREFIX ?= /usr/local
BUILD := build/dev
PROGRAMS := gsan-launch gsan-report gsan-nvcc gsan-ptxas gsan-ptxas-blackwell
FROM := 0
TO := 100000
WARPS_TO := 20000

all: build

setup: ## install missing Debian packages and the Python venvs
	@scripts/setup

build: setup ## build everything into build/dev; build/bin has links to the programs, for PATH, where man finds their pages
	@mkdir -p build && { cmake --preset dev >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }; }
	@cmake --build --preset dev
	@rm -rf build/bin && mkdir build/bin && ln -s $(PROGRAMS:%=../dev/bin/%) build/bin
	@ln -sfn dev/lib build/lib
	@mkdir -p build/man && ln -sfn ../../man build/man/man1

demo: build ## find the race of examples/message_passing.py on the emulated device
	@scripts/demo

test: build ## everything that needs no GPU
	@scripts/run-tests

soak: build ## 100,000 random programs against the reference detector; FROM=a TO=b: those seeds (bench/results/soak.json)
	@GSAN_BIN=$(CURDIR)/$(BUILD)/bin python3 tests/random/soak.py --from $(FROM) --to $(TO) --results bench/results/soak.json

soak-warps: build ## 20,000 random programs of warps: the axioms against the reference detector; FROM=a WARPS_TO=b: those seeds
	@GSAN_BIN=$(CURDIR)/$(BUILD)/bin python3 tests/random/warps.py --from $(FROM) --to $(WARPS_TO) \
		--results bench/results/soak-warps.json

deb: build ## a Debian package of what was built: build/gsan_VERSION_ARCHITECTURE.deb
	@cpack --config $(BUILD)/CPackConfig.cmake -G DEB

wheel: build ## a Python wheel of it: build/gsan-VERSION-py3-none-PLATFORM.whl
	@scripts/make-wheel $(BUILD) build

install: ## what `make build` built; PREFIX=/usr/local, DESTDIR honoured
	@test -e $(BUILD)/cmake_install.cmake || { echo "make install: nothing is built yet: run make build first" >&2; exit 1; }
	@cmake --install $(BUILD) --prefix "$(PREFIX)"

uninstall: ## what the last `make install` put there
	@cmake -P cmake/uninstall.cmake $(BUILD)/install_manifest.txt

clean:
	@rm -rf build

help:
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

.PHONY: all setup build demo test soak soak-warps deb wheel install uninstall clean help
