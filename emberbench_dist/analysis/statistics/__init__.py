"""Statistics of runs: scores, and differences of pairs with their uncertainty."""
