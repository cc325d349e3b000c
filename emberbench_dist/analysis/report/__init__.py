"""The report: what pictures need, every figure with its caption, and the page."""
