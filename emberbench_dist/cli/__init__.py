"""The command `dist-eval`: parse, call, print, exit code."""
