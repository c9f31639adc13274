.PHONY: htsim-record
htsim-record: setup ## compare transports with csg-htsim's, and write docs/fidelity/htsim.md: make htsim-record HTSIM=... UET=..., clones of csg-htsim and uet-htsim
	@$(BIN)/python tests/htsim/htsim.py $(if $(HTSIM),"$(HTSIM)") $(if $(UET),"$(UET)")
