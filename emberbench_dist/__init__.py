"""EMBERBench's distributed evaluator."""
