.PHONY: worlds worlds-record
worlds: setup ## compare SCDP in the simulator with real hosts in a lab (Linux; root, or a kernel that lets users make namespaces)
	cargo build --locked --release -p scdp-cli
	@$(BIN)/python tests/worlds/worlds.py

worlds-record: setup ## the same with all experiments, and write docs/fidelity/wire.md
	cargo build --locked --release -p scdp-cli
	@$(BIN)/python tests/worlds/worlds.py --record
