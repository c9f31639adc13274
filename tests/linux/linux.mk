.PHONY: linux-record
linux-record: setup ## measure the kernel's TCP beside the simulator, and write docs/fidelity/linux.md: make linux-record [KERNEL=...], made by tools/linux-vm/build
	cargo build --locked --release -p scdp-cli
	@$(BIN)/python tests/linux/linux.py $(if $(KERNEL),--kernel "$(KERNEL)" --jobs 2)
