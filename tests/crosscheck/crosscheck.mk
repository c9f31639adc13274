.PHONY: crosscheck-ns3
crosscheck-ns3: ## compare with ns-3 on the same runs; skips where ns-3 is not installed
	@PYTHON="$(PYTHON)" tests/crosscheck/run
