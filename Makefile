# make demo   build, then show the newest session on this machine (or the bundled example)
# make test   everything that must pass
# make bench  the benchmarks of docs/performance.md

CARGO ?= cargo
EXAMPLE := examples/agent/sessions/--home-ada-projects-tidewatch--/2026-02-16T09-12-44-120Z_1470bba2d62a6f1b.jsonl

.PHONY: demo test lint doc npm bench

demo:
	$(CARGO) build --release --locked --bin leaflog
	@sh examples/demo.sh target/release/leaflog $(EXAMPLE)

test: lint
	$(CARGO) test --locked --all-features
	$(CARGO) test --locked --no-default-features --lib --quiet
	$(CARGO) bench --locked --bench core --bench write --bench discovery -- --test
	$(CARGO) build --release --locked --bin leaflog
	sh tests/external/run.sh target/release/leaflog $(EXAMPLE)
	$(MAKE) npm

# The npm package: addon, facade, lints, its suite under Node and Bun.
npm:
	@if npm --version >/dev/null 2>&1; then cd npm/leaflog && \
	npm ci --no-audit --no-fund --loglevel=error && npm run --silent build && npm run --silent lint && npm test --silent; \
	else echo "skipped: the npm package (no npm: install Node 20 or later)"; fi

lint: doc
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --all --check; \
	else echo "skipped: formatting (no rustfmt: rustup component add rustfmt)"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then \
	$(CARGO) clippy --locked --workspace --all-targets --all-features -- -D warnings; \
	else echo "skipped: lints (no clippy: rustup component add clippy)"; fi

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items

bench:
	$(CARGO) bench --locked --bench core --bench write --bench discovery
