# make demo   build, then show the newest session on this machine (or the bundled example)
# make test   everything that must pass
# make bench  the benchmarks of docs/performance.md
# make npm    the npm package: addon, types, lints, its suite; part of make test
# make same   the same operations through Rust, C and JavaScript (after make npm); part of make test
# make -j6 long   random tests, all at once, for LEAFLOG_LONG_SECONDS, by default an hour (after make npm)
# make miri   the vector code under Miri, where there is a nightly Rust; part of make test
#
# What cannot be had on a machine is said in one line; with LEAFLOG_REQUIRE=1 it is a failure.
#
# The C interface (docs/c-api.md):
# make install PREFIX=/usr/local [DESTDIR=]   header, libraries, leaflog.pc, CMake package
# make uninstall PREFIX=/usr/local [DESTDIR=]  removes them
# make header   include/leaflog.h from bindings/c
# make test-c   its tests; part of make test

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
EXAMPLE := examples/agent/sessions/--home-ada-projects-tidewatch--/2026-02-16T09-12-44-120Z_1470bba2d62a6f1b.jsonl

.PHONY: demo test empty-home lint doc bench header test-c install uninstall npm same miri long long-model \
	long-crash long-edits long-processes long-same long-calls

demo:
	$(CARGO) build --release --locked --bin leaflog
	@sh examples/demo.sh "$(TARGET_DIR)/release/leaflog" $(EXAMPLE)

# Property tests take the same cases each time here; with `cargo test` they take others each time.
test: export PROPTEST_RNG_SEED ?= 20260216

# No test touches the agent of who runs it: here the home is an empty directory, and it is an error when one
# makes an agent's directory in it, or leaves anything in the directory for temporary files. Tools find what is theirs
# where it is.
OWN_HOME := $(HOME)
TEST_HOME := $(abspath $(TARGET_DIR))/test-home
TEST_TMP := $(abspath $(TARGET_DIR))/test-tmp
test long: export CARGO_HOME := $(or $(CARGO_HOME),$(OWN_HOME)/.cargo)
test long: export RUSTUP_HOME := $(or $(RUSTUP_HOME),$(OWN_HOME)/.rustup)
test long: export npm_config_cache := $(or $(npm_config_cache),$(NPM_CONFIG_CACHE),$(OWN_HOME)/.npm)
test long: export npm_config_userconfig := $(or $(npm_config_userconfig),$(NPM_CONFIG_USERCONFIG),$(OWN_HOME)/.npmrc)
test long: export HOME := $(TEST_HOME)
test long: export TMPDIR := $(TEST_TMP)
test long: export PI_CODING_AGENT_DIR :=
test long: export PI_CONFIG_DIR :=
test long: export XDG_DATA_HOME :=
test long: export XDG_STATE_HOME :=

# Long runs are of random seeds.
long: export LEAFLOG_LONG_SECONDS ?= 3600

test: empty-home lint test-c miri
	$(CARGO) test --locked --all-features
	$(CARGO) test --locked --no-default-features --lib --quiet -- --skip model
	$(CARGO) bench --locked --bench core --bench write --bench discovery --bench long -- --test
	$(CARGO) build --release --locked --bin leaflog
	sh tests/external/run.sh "$(TARGET_DIR)/release/leaflog" $(EXAMPLE)
	$(MAKE) npm
	$(MAKE) same
	@test ! -e "$(TEST_HOME)/.xcsh" || { echo "failed: a test wrote into the home of who runs it:"; \
	find "$(TEST_HOME)/.xcsh"; exit 1; } >&2
	@test -z "$$(ls -A "$(TEST_TMP)")" || { echo "failed: tests left something in the directory for temporary files:"; \
	find "$(TEST_TMP)" -mindepth 1 -maxdepth 2; exit 1; } >&2

empty-home:
	@chmod -R u+rwx "$(TEST_TMP)" 2>/dev/null; rm -rf "$(TEST_HOME)" "$(TEST_TMP)" && mkdir -p "$(TEST_HOME)" "$(TEST_TMP)"

long: long-model long-crash long-edits long-processes long-same long-calls

long-model: empty-home
	$(CARGO) test --locked --all-features --lib -- --test-threads=8 model

long-crash: empty-home
	$(CARGO) test --locked --all-features --test crash

long-edits: empty-home
	$(CARGO) test --locked --all-features --test write_faults u09_random_edits

long-processes: empty-home
	$(CARGO) test --locked --all-features --test processes -- --test-threads=8 two_processes four_processes

long-same: empty-home
	$(MAKE) same

long-calls: empty-home
	$(CARGO) test --locked -p leaflog-c any_calls

# The same operations through Rust, C and JavaScript, and their files compared.
same:
	$(CARGO) build --locked -p leaflog-c
	$(CARGO) build --locked --all-features --example same
	sh tests/same/run.sh $(TARGET_DIR) npm/leaflog

# The npm package: addon, facade, lints, its suite under Node and Bun.
npm:
	@if npm --version >/dev/null 2>&1; then cd npm/leaflog && \
	npm ci --no-audit --no-fund --loglevel=error && npm run --silent build && npm run --silent lint && npm test --silent; \
	else . tests/skip.sh; skip "the npm package (no npm: install Node 20 or later)"; fi

lint: doc
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --all --check; \
	else . tests/skip.sh; skip "formatting (no rustfmt: rustup component add rustfmt)"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then \
	$(CARGO) clippy --locked --workspace --all-targets --all-features -- -D warnings; \
	else . tests/skip.sh; skip "lints (no clippy: rustup component add clippy)"; fi

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items

# The only unsafe code of the core. What it draws at random is left out: Miri takes its time.
miri:
	@if $(CARGO) +nightly miri --version >/dev/null 2>&1; then \
	MIRIFLAGS=-Zmiri-disable-isolation $(CARGO) +nightly miri test --locked --no-default-features --lib \
	--target-dir $(TARGET_DIR)/miri -- json::block --skip random; \
	else echo "not done: Miri, which needs a nightly Rust (rustup +nightly component add miri)"; fi

bench:
	$(CARGO) bench --locked --bench core --bench write --bench discovery --bench long

# The C interface.
PREFIX ?= /usr/local
# A library made with a thread sanitizer, where there is a compiler that can.
TSAN_TARGET := $(shell $(CARGO) +nightly --version >/dev/null 2>&1 && rustc -vV | sed -n 's/^host: \(.*-linux-gnu\)$$/\1/p')
TSAN_FLAGS := -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer

install:
	$(CARGO) build --release --locked -p leaflog-c
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh bindings/c/install.sh "$(TARGET_DIR)/release"

uninstall:
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" sh bindings/c/install.sh --remove

header:
	LEAFLOG_WRITE_HEADER=1 $(CARGO) test --locked -p leaflog-c --test header

test-c:
	$(CARGO) test --locked -p leaflog-c
	$(CARGO) build --locked -p leaflog-c
ifneq ($(TSAN_TARGET),)
	RUSTFLAGS="$(TSAN_FLAGS)" $(CARGO) +nightly build --locked -p leaflog-c --target $(TSAN_TARGET) \
	--target-dir $(TARGET_DIR)/tsan
endif
	TSAN_TARGET=$(TSAN_TARGET) TSAN_LIB=$(if $(TSAN_TARGET),$(TARGET_DIR)/tsan/$(TSAN_TARGET)/debug) \
	sh tests/c/run.sh $(TARGET_DIR)/debug
	sh tests/c/installed.sh $(TARGET_DIR)/debug
