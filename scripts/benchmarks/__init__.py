"""What `scripts/bench` measures, a module for each part of the program."""
