"""Everything on disk: run folder, ledger, artifact and traces, Parquet."""
