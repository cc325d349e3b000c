"""One evaluation in one run folder: what to play next, who plays it, what is kept."""
