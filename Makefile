# Dunlin: run, test, measure. Every target does its own set-up.
SEEDS ?= 100

.PHONY: help run test trials demo sim fuzz bench build package setup
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Start a cluster of three nodes in this terminal, data in ./data
	@exec target/release/dunlin up --nodes 3 --data ./data --http-port 8080

test: ## Check format, lints and docs, run all tests that are fast; what must hold before a change is done
	@scripts/test.sh

trials: ## Run what takes long, one at a time: kills, moves, fuzzers, planted bugs; NAME=moves runs one set
	@scripts/trials.sh $(NAME)

demo: build ## Load the Debian catalogue, kill a node half way, prove that nothing is lost
	@target/release/dunlin demo

sim: setup ## Simulate SEEDS=n clusters (default 100); SEED=n replays one and traces it
	@scripts/sim.sh $(if $(SEED),--seed $(SEED) --trace,--seeds $(SEEDS))

fuzz: setup ## Fuzz the readers of logs and connections for SECONDS=n each (default 15)
	@scripts/fuzz.sh $(SECONDS)

bench: build ## Measure for about 170 minutes, and write docs/results/
	@cargo build --release -p dunlin-bench
	@scripts/rivals.sh
	@target/release/dunlin-bench quorum
	@target/release/dunlin-bench wal
	@target/release/dunlin-bench copy
	@target/release/dunlin-bench move
	@target/release/dunlin-bench shards
	@target/release/dunlin-bench ranges
	@target/release/dunlin-bench replication
	@target/release/dunlin-bench views
	@target/release/dunlin-bench rivals
	@target/release/dunlin-bench transport
	@target/release/dunlin-bench rpc
	@target/release/dunlin-bench txn
	@target/release/dunlin-bench txn --contention
	@target/release/dunlin-bench tpcc --all --out docs/results

build: setup ## Build the dunlin binary; the first time takes 11 to 26 minutes on 2 cores
	@cargo build --release -p dunlin-cli

package: build ## Make and check a Debian package, target/package/dunlin_*.deb (REVISION=n, default 1)
	@scripts/package.sh

setup: ## Install missing Debian packages, check for Rust, compile RocksDB (7 minutes of a processor)
	@scripts/setup.sh
