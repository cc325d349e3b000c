"""The Parquet tables as data: which there are, and each column's type, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Arrow type, unit (empty: a name or a plain number) and meaning."""

    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """One Parquet file of the run folder."""

    name: str
    columns: tuple[Column, ...]


_EPISODE = Column("episode", "int64", "", "number in the manifest, from 0")
_SCENARIO = Column("scenario_id", "string", "", "scenario")
_SEED = Column("seed", "uint64", "", "seed, unsigned 64-bit")
METRIC_COLUMNS = (
    Column("people", "int64", "people", "people at the start"),
    Column("evacuated", "int64", "people", "people who got out"),
    Column("casualties", "int64", "people", "people who were lost"),
    Column("casualties_entered_fire", "int64", "people", "people lost who walked into fire"),
    Column("casualties_fire_spread", "int64", "people", "people lost to whom fire came"),
    Column("unresolved", "int64", "people", "people still active at the end"),
    Column("trapped_at_end", "int64", "people", "people trapped in the last state"),
    Column("ever_trapped", "int64", "people", "people trapped in any state"),
    Column("steps", "int64", "steps", "steps played"),
    Column("person_steps", "int64", "actions", "active people, summed over the steps"),
    Column("moved", "int64", "actions", "actions that moved somebody"),
    Column("stayed", "int64", "actions", "actions that were `stay`"),
    Column("blocked_boundary", "int64", "actions", "moves off the grid"),
    Column("blocked_wall", "int64", "actions", "moves into a wall"),
    Column("blocked_fire", "int64", "actions", "moves into fire that were refused"),
    Column("blocked_occupied", "int64", "actions", "moves to a cell that was not left"),
    Column("blocked_conflict", "int64", "actions", "moves to a cell that a lower id took"),
    Column("blocked_cycle", "int64", "actions", "moves that were part of a swap or rotation"),
    Column("burned_cells", "int64", "cells", "cells burning at the end"),
    Column("last_evacuation_step", "int64", "steps", "last step with an evacuation; null: none"),
    Column("evacuation_rate", "float64", "", "evacuated / people, from 0 to 1"),
    Column("casualty_rate", "float64", "", "casualties / people, from 0 to 1"),
    Column("mean_evacuation_step", "float64", "steps", "mean step of an evacuation; null: none"),
)
ACCOUNTING_COLUMNS = (
    Column("latency_seconds", "float64", "s", "time of the call, as the agent reports it"),
    Column("input_tokens", "int64", "tokens", "tokens sent"),
    Column("output_tokens", "int64", "tokens", "tokens received"),
    Column("cost_usd", "float64", "USD", "price of the call"),
    Column("retries", "int64", "calls", "transport retries of the call"),
    Column("model", "string", "", "model that answered"),
)

TABLES = (
    Table(
        "episodes",
        (
            _EPISODE,
            _SCENARIO,
            Column("scenario_hash", "string", "", "SHA-256 of the normalised scenario"),
            _SEED,
            Column("termination_reason", "string", "", "all_resolved or max_steps"),
            *METRIC_COLUMNS,
        ),
    ),
    Table(
        "people",
        (
            _EPISODE,
            _SCENARIO,
            _SEED,
            Column("id", "string", "", "person"),
            Column("status", "string", "", "active, evacuated or casualty at the end"),
            Column("row", "int64", "cells", "last row, from the top"),
            Column("col", "int64", "cells", "last column, from the left"),
            Column("step", "int64", "steps", "step of the evacuation or the casualty, from 1"),
            Column("exit", "string", "", "exit taken"),
            Column("cause", "string", "", "entered_fire or fire_spread"),
        ),
    ),
    Table(
        "steps",
        (
            _EPISODE,
            Column("step", "int64", "steps", "after this step; 0 is the initial state"),
            Column("active", "int64", "people", "people still inside"),
            Column("evacuated", "int64", "people", "people out so far"),
            Column("casualties", "int64", "people", "people lost so far"),
            Column("burning", "int64", "cells", "burning cells"),
            Column("ignited", "int64", "cells", "cells that ignited in this step"),
            Column("trapped", "int64", "people", "active people without a path to an exit"),
        ),
    ),
    Table(
        "execution",
        (
            _EPISODE,
            Column("step", "int64", "steps", "step as observed, from 0; null: the whole episode"),
            Column("seconds", "float64", "s", "wall time of the step or the whole episode"),
            *ACCOUNTING_COLUMNS,
        ),
    ),
    Table(
        "failures",
        (
            _EPISODE,
            _SCENARIO,
            _SEED,
            Column("step", "int64", "steps", "step asked for; null: none yet, or not known"),
            Column("kind", "string", "", "agent or crash"),
            Column("type", "string", "", "type of what was raised"),
            Column("message", "string", "", "its message"),
            Column("traceback", "string", "", "the agent's traceback"),
            Column("attempts", "int64", "attempts", "times that the episode failed"),
        ),
    ),
)
TABLE = {table.name: table for table in TABLES}
