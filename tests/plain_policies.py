"""The baselines as plain functions of an observation, written from their descriptions alone."""

from __future__ import annotations

import hashlib
import json

from oracle import PlainSplitMix64

DIRECTIONS = {"north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}
CYCLE = ("stay", "north", "south", "east", "west")


def stay(observation):
    """Nobody moves."""
    return dict.fromkeys(active(observation), "stay")


def greedy(observation):
    """Everybody steps nearer to the nearest exit; of equal steps the first of N, S, E, W."""
    distance = distances(observation)
    return {
        person: first_step(distance, position) for person, position in active(observation).items()
    }


def counting():
    """Return a policy of one episode: it counts, and all cycle through the actions."""
    count = 0

    def policy(observation):
        nonlocal count
        count += 1
        return {
            person: CYCLE[(count + place) % 5] for place, person in enumerate(active(observation))
        }

    return policy


def shuffle(observation):
    """Everybody draws from a generator that the observation's text seeds."""
    text = json.dumps(observation.to_dict(), sort_keys=True, separators=(",", ":"))
    rng = PlainSplitMix64(int(hashlib.sha256(text.encode()).hexdigest()[:16], 16))
    return {person: CYCLE[rng.next_u64() % 5] for person in active(observation)}


def active(observation):
    """Return the position of each active person, by id in order."""
    return {
        person.id: person.position for person in observation.people if person.status == "active"
    }


def first_step(distance, position):
    """Return the first direction that leads nearer, else `stay`."""
    here = distance.get(position, 0)
    for name, (down, right) in DIRECTIONS.items():
        if distance.get((position[0] + down, position[1] + right), here) < here:
            return name
    return "stay"


def distances(observation):
    """Return the steps to the nearest exit that does not burn, for each cell that has a path."""
    world, closed = observation.map, {*observation.map.obstacles, *observation.burning}
    front = [exit.position for exit in world.exits if exit.position not in closed]
    distance = dict.fromkeys(front, 0)
    for row, col in front:  # grows while it is read: a queue
        for down, right in DIRECTIONS.values():
            cell = row + down, col + right
            inside = 0 <= cell[0] < world.height and 0 <= cell[1] < world.width
            if inside and cell not in closed and cell not in distance:
                distance[cell] = distance[row, col] + 1
                front.append(cell)
    return distance
