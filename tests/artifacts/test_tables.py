"""The tables as data: what loaders, exports and pages are made from."""

from __future__ import annotations

from emberbench_dist.artifacts.tables import METRIC_COLUMNS, TABLE, TABLES
from emberbench_dist.evaluation.metrics import FLOAT_METRICS, INTEGER_METRICS

UNITS = {"", "people", "steps", "actions", "cells", "s", "USD", "tokens", "calls", "attempts"}


def test_every_column_has_type_unit_and_meaning():
    """No column is left unexplained, and units come from one list."""
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        for column in table.columns:
            assert column.type in {"int64", "uint64", "float64", "string"}
            assert column.unit in UNITS
            assert len(column.meaning) > 4


def test_metric_columns_are_the_metrics():
    """Each metric has its column, in order, whole numbers and fractions each in their type."""
    assert [(column.name, column.type) for column in METRIC_COLUMNS] == [
        *((name, "int64") for name in INTEGER_METRICS),
        *((name, "float64") for name in FLOAT_METRICS),
    ]
    assert TABLE["episodes"].columns[-len(METRIC_COLUMNS) :] == METRIC_COLUMNS
