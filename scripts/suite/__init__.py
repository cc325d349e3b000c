"""The built-in suite, and a generator of more places like those in it."""
