"""Notes of what is played: they say it where they can, and never stand in anybody's way."""

from __future__ import annotations

from contextlib import closing
from threading import Barrier, Thread

import pytest

from emberbench_dist.artifacts.playing import Notepad, Playing, read_note, read_notes


def test_a_note_reads_back(tmp_path):
    """A reader sees which episode a worker plays, and for how long; nothing between episodes."""
    with closing(Notepad(tmp_path, 3)) as note:
        for episode in (0, 7, 2**62):
            note(episode)
            (found,) = read_note(tmp_path, 3)
            assert (found.worker, found.episode) == (3, episode)
            assert 0 <= found.seconds < 60
        note(None)
        assert read_note(tmp_path, 3) == []
    assert (tmp_path / "3").stat().st_size == 16


def test_each_thread_has_its_own_place(tmp_path):
    """What several threads of a worker play is told of all, and leaves with each of them alone."""
    notes, gate = Notepad(tmp_path, 2), Barrier(5)

    def play(episode):
        notes(episode)
        gate.wait()
        gate.wait()
        notes(None)

    threads = [Thread(target=play, args=(episode,)) for episode in (5, 6, 0, 8)]
    with closing(notes):
        notes(7)
        for thread in threads:
            thread.start()
        gate.wait()
        assert sorted(note.episode for note in read_note(tmp_path, 2)) == [0, 5, 6, 7, 8]
        gate.wait()
        for thread in threads:
            thread.join()
        assert [note.episode for note in read_notes(tmp_path)] == [7]
    notes(9)
    assert [note.episode for note in read_notes(tmp_path)] == [7], "closed is closed"


def test_a_place_that_nobody_wrote_is_nothing(tmp_path):
    """A thread that notes before those of lower places leaves a gap, which reads as nothing."""
    with closing(Notepad(tmp_path, 0)) as notes:
        thread = Thread(target=lambda: notes._place.number)
        thread.start()
        thread.join()
        notes(5)
        assert [note.episode for note in read_note(tmp_path, 0)] == [5]


def test_the_longest_is_told_first(tmp_path, monkeypatch):
    """All that is played is told, the longest first; other files are nobody's notes."""
    for worker, episode, now in ((10, 5, 1000.0), (2, 6, 1010.0), (0, 4, 1020.0)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with closing(Notepad(tmp_path, worker)) as note:
            note(episode)
    monkeypatch.setattr("time.time", lambda: 1030.0)
    (tmp_path / "other").write_bytes(bytes(16))
    (tmp_path / "7").write_bytes(b"half")
    assert read_notes(tmp_path) == [Playing(10, 5, 30.0), Playing(2, 6, 20.0), Playing(0, 4, 10.0)]


def test_a_note_is_told_in_a_few_words():
    """A note reads as a sentence of a status."""
    assert str(Playing(2, 7, 12.6)) == "episode 7 on worker 2 for 13 s"


def test_where_there_is_nothing_nothing_is_known(tmp_path):
    """A folder or a note that is not there is no error."""
    assert read_note(tmp_path, 0) == []
    assert read_notes(tmp_path / "gone") == []


@pytest.mark.parametrize("place", ["gone", "full"])
def test_a_note_that_cannot_be_written_stops_nobody(tmp_path, place):
    """Where there is no such folder, or no room on its disk, nothing is noted nor raised."""
    folder = tmp_path / place
    if place == "full":
        folder.mkdir()
        (folder / "0").symlink_to("/dev/full")
    with closing(Notepad(folder, 0)) as note:
        note(5)
        note(None)
    assert folder.exists() == (place == "full")
