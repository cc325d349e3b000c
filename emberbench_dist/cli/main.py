"""Register the commands."""


def main() -> None:
    """Run dist-eval."""
