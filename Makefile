# `make test` needs Go, and Docker or Debian as root for the real servers (scripts/brokers.sh).
PKG ?=
ARGS ?=
FUZZTIME ?= 10s
KILLS ?= 200

.DEFAULT_GOAL := help
.PHONY: help test test-short race certify fuzz bench demo lint fmt generate generate-check brokers-up brokers-down

help: ## show this help
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target text; do printf '  %-16s %s\n' "$$target" "$$text"; done

test: ## all tests with the race detector on real servers (PKG=./middleware ARGS='-run Retry')
	@scripts/test.sh $(ARGS) $(PKG)

test-short: ## quick tests without servers and race detector
	go test -short $(ARGS) $(or $(PKG),./...)

race: ## tests five times over, to find what fails now and then (PKG, ARGS as for test)
	@scripts/test.sh -count=5 $(ARGS) $(PKG)

certify: ## write conformance/CERTIFICATE.md anew: all cases, 200 kills for each pair (KILLS=200)
	@scripts/certify.sh $(KILLS)

fuzz: ## every fuzz test for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)

bench: ## benchmarks (PKG, ARGS)
	go test -run '^$$' -bench . -benchmem $(ARGS) $(or $(PKG),./...)

demo: ## the orders service through duplicates, poison, an outage and a bug (ARGS='-kill -v')
	go run ./examples/pedidos $(ARGS)

lint: ## format, vet, golangci-lint, go.mod, shell scripts
	@scripts/lint.sh

fmt: ## format all Go code
	gofmt -w .

generate: ## write generated code
	@scripts/generate.sh gen

generate-check: ## fail when generated code is stale
	@scripts/generate.sh diff

brokers-up: ## start PostgreSQL and Kafka for tests and print their addresses
	@scripts/brokers.sh up

brokers-down: ## stop them and delete their data
	@scripts/brokers.sh down
