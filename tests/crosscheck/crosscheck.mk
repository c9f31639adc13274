.PHONY: crosscheck-ns3 crosscheck-ns3-record
crosscheck-ns3: ## compare with ns-3 on the same runs; skips where ns-3 is not installed
	@PYTHON="$(PYTHON)" tests/crosscheck/run

crosscheck-ns3-record: ## the same, and write the tables into docs/fidelity/crosscheck-ns3.md
	@PYTHON="$(PYTHON)" tests/crosscheck/run --record docs/fidelity/crosscheck-ns3.md
