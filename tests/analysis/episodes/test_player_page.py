"""The player in a real browser: it shows what the simulator did, and obeys mouse and keyboard."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import truth
from browser import overflow, visit
from truth import AGENTS, EPISODES, ODD_IDS

from emberbench_dist.analysis.episodes.playback import playbacks
from emberbench_dist.analysis.episodes.player import page_of, player_section

LABYRINTH, HALL = 0, 2
# For each kind of cell, the custom property with the colour of its middle.
MIDDLE = {
    "floor": "floor",
    "wall": "wall",
    "fire": "fire-ink",
    "active": "active",
    "trapped": "trapped",
    "casualty": "lost",
}


@pytest.fixture(scope="module")
def page_file(runs, tmp_path_factory):
    """Write the page with all episodes of all runs."""
    path = tmp_path_factory.mktemp("page") / "player.html"
    path.write_text(page_of(playbacks(runs, range(3))), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def alone_file(runs, tmp_path_factory):
    """Write the page of a single run."""
    path = tmp_path_factory.mktemp("page") / "alone.html"
    path.write_text(page_of(playbacks(runs[:1], range(3))), encoding="utf-8")
    return path


@contextmanager
def player(browser, path, **options):
    """Open a page and wait until its first episode is shown."""
    with visit(browser, path, **options) as page:
        shown(page)
        yield page


def part(page, name):
    """Return the elements of one part of the player."""
    return page.locator(f'[data-part="{name}"]')


def shown(page, step=None):
    """Wait until a step (or any) is drawn; return it."""
    mark = "[data-step]" if step is None else f'[data-step="{step}"]'
    page.wait_for_selector(f".ember-player{mark}")
    return int(page.locator(".ember-player").get_attribute("data-step"))


def choose(page, episode):
    """Choose an episode by its number, and wait for it."""
    part(page, "episode").select_option(str(episode))
    shown(page, 0)


def press(page, *keys):
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def colours(page, panel):
    """Return the colour in the middle of every cell of a grid, and those of the style."""
    return page.evaluate(
        """([panel, width, height]) => {
          const canvas = document.querySelectorAll("figure canvas")[panel];
          const readable = (width, height) =>
            new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
          const copy = readable(canvas.width, canvas.height), probe = readable(1, 1);
          const size = canvas.width / width;
          copy.drawImage(canvas, 0, 0);
          const style = getComputedStyle(document.querySelector(".ember-player"));
          const named = {};
          for (const name of ["floor", "wall", "fire-ink", "active", "trapped", "lost"]) {
            probe.fillStyle = style.getPropertyValue(`--ep-${name}`);
            probe.fillRect(0, 0, 1, 1);
            named[name] = [...probe.getImageData(0, 0, 1, 1).data].join();
          }
          const grid = [];
          for (let row = 0; row < height; row++) {
            grid.push([]);
            for (let col = 0; col < width; col++) {
              const at = [(col + 0.5) * size, (row + 0.5) * size].map(Math.floor);
              grid[row].push([...copy.getImageData(...at, 1, 1).data].join());
            }
          }
          return [grid, named];
        }""",
        [panel, 12, 12],
    )


def test_the_page_knows_what_the_simulator_did(browser, page_file):
    """Unpacked in the browser, everybody's place, fate and deed at every step are the true ones."""
    with player(browser, page_file) as page:
        for number, (document, _) in enumerate(EPISODES):
            choose(page, number)
            width = document["map"]["width"]
            longest = max(AGENTS, key=lambda name: truth.steps(name, number))
            for run, agent in enumerate(AGENTS):
                last = truth.steps(agent, number)
                told = page.evaluate(
                    "([run, last]) => [...Array(last + 1).keys()].map((step) =>"
                    " document.querySelector('.ember-player').player.people(run, step))",
                    [run, last],
                )
                for step in range(last + 1):
                    state = truth.state(agent, number, step)
                    deeds = {}
                    if step:
                        entry = truth.record(agent, number).steps[step - 1]
                        moves = zip(entry.active, entry.choices, entry.outcomes, strict=True)
                        deeds = {name: [action, outcome] for name, action, outcome in moves}
                    assert told[step] == [
                        [
                            person.id,
                            person.position[0] * width + person.position[1],
                            truth.status(state, person),
                            deeds.get(person.id),
                        ]
                        for person in state.people
                    ]
            for step in range(truth.steps(longest, number) + 1):
                burning = page.evaluate(
                    "(step) => document.querySelector('.ember-player').player.burning(step)", step
                )
                state = truth.state(longest, number, step)
                assert burning == [row * width + col for row, col in state.burning]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_grids_show_it(browser, page_file, scheme):
    """The middle of every cell has the colour of what is there, in both grids, at each step."""
    with player(browser, page_file, color_scheme=scheme) as page:
        choose(page, LABYRINTH)
        agents = ["greedy", "shuffle"]
        exits = [exit["position"] for exit in EPISODES[LABYRINTH][0]["map"]["exits"]]
        last = max(truth.steps(agent, LABYRINTH) for agent in agents)
        assert page.locator("figure canvas").count() == 2
        for step in range(0, last + 1, 3):
            part(page, "scrub").fill(str(step))
            shown(page, step)
            for panel, agent in enumerate(agents):
                grid, named = colours(page, panel)
                told = truth.cells(AGENTS, agent, LABYRINTH, step)
                for row in range(12):
                    for col in range(12):
                        if [row, col] not in exits:  # these have a letter in the middle
                            colour = named[MIDDLE[told[row][col]]]
                            assert grid[row][col] == colour, (step, panel, row, col)


def test_playing_goes_through_every_step_to_the_end(browser, page_file):
    """Play advances both grids together, ends at the last step, and starts over from there."""
    with player(browser, page_file) as page:
        choose(page, LABYRINTH)
        page.evaluate(
            """() => {
              window.seen = [];
              const look = () => {
                const grids = [...document.querySelectorAll("figure canvas")];
                const steps = grids.map((grid) => grid.dataset.step);
                if (String(steps) !== String(seen.at(-1))) seen.push(steps);
                requestAnimationFrame(look);
              };
              look();
            }"""
        )
        part(page, "speed").select_option(label="32 steps/s")
        last = max(truth.steps(agent, LABYRINTH) for agent in ("greedy", "shuffle"))
        part(page, "play").click()
        page.wait_for_function("document.querySelector('[data-part=play]').textContent === 'Pause'")
        shown(page, last)
        page.wait_for_function("document.querySelector('[data-part=play]').textContent === 'Play'")
        seen = page.evaluate("seen")
        assert all(left == right for left, right in seen), "both grids are in step"
        steps = [int(left) for left, _ in seen]
        assert steps == sorted(steps)
        assert (steps[0], steps[-1]) == (0, last)
        assert len(steps) > 3, "steps between are shown, also by a slow machine"
        part(page, "play").click()
        page.wait_for_function(f"document.querySelector('.ember-player').dataset.step < {last}")


def test_pause_stays_where_it_is(browser, page_file):
    """A pause holds the step, and the live region speaks only then."""
    with player(browser, page_file) as page:
        choose(page, LABYRINTH)
        press(page, "Space")
        page.wait_for_function("document.querySelector('.ember-player').dataset.step > 1")
        assert part(page, "step").get_attribute("aria-live") == "off"
        press(page, "Space")
        page.wait_for_function("document.querySelector('[data-part=play]').textContent === 'Play'")
        held = shown(page)
        page.wait_for_timeout(400)
        assert shown(page) == held
        assert part(page, "step").get_attribute("aria-live") == "polite"


def test_the_keyboard_does_everything(browser, page_file):
    """Arrows, Home, End, plus, minus, n and p do what the page says, wherever the focus is."""
    with player(browser, page_file) as page:
        choose(page, LABYRINTH)
        page.evaluate("document.activeElement.blur()")
        last = max(truth.steps(agent, LABYRINTH) for agent in ("greedy", "shuffle"))
        for key, step in [
            ("ArrowRight", 1),
            ("ArrowRight", 2),
            ("ArrowLeft", 1),
            ("ArrowLeft", 0),
            ("ArrowLeft", 0),
            ("End", last),
            ("ArrowRight", last),
            ("Home", 0),
        ]:
            press(page, key)
            shown(page, step)
            assert part(page, "step").inner_text() == f"Step {step} of {last}"
        assert part(page, "speed").input_value() == "3"
        press(page, "+", "+", "-")
        page.wait_for_function("document.querySelector('[data-part=speed]').value === '4'")
        press(page, *"-" * 9)
        page.wait_for_function("document.querySelector('[data-part=speed]').value === '0'")
        first = part(page, "rank").inner_text()
        part(page, "scrub").focus()
        press(page, "ArrowRight")
        shown(page, 1)
        press(page, "n" if first.startswith("1 ") else "p")
        page.wait_for_function(
            f"document.querySelector('[data-part=rank]').textContent !== '{first}'"
        )


def test_a_button_is_pressed_once(browser, page_file):
    """Space on a button presses it, and is not taken for play as well; a list keeps its keys."""
    with player(browser, page_file) as page:
        choose(page, LABYRINTH)
        part(page, "forward").focus()
        press(page, "Space")
        shown(page, 1)
        page.wait_for_timeout(300)
        assert (shown(page), part(page, "play").inner_text()) == (1, "Play")
        part(page, "speed").focus()
        press(page, "ArrowRight", "Home")
        page.wait_for_timeout(200)
        assert shown(page) == 1


def test_episodes_are_sorted_by_difference(browser, page_file):
    """The list begins with the largest difference of the two runs; a button goes to the next."""

    def expected(left, right):
        def out(agent, number):
            return sum(p.status == "evacuated" for p in truth.state(agent, number, 10**6).people)

        differences = {number: out(left, number) - out(right, number) for number in range(3)}
        return sorted(differences, key=lambda number: (-abs(differences[number]), number))

    with player(browser, page_file) as page:
        listed = "[...document.querySelector('[data-part=episode]').options].map((o) => +o.value)"
        order = page.evaluate(listed)
        assert order == expected("greedy", "shuffle") != [0, 1, 2]
        for rank, number in enumerate(order):
            assert part(page, "rank").inner_text() == f"{rank + 1} of 3"
            assert part(page, "episode").input_value() == str(number)
            if rank < 2:
                part(page, "next").click()
                page.wait_for_function(
                    f"document.querySelector('[data-part=rank]').textContent === '{rank + 2} of 3'"
                )
        assert part(page, "next").is_disabled()
        page.locator("figure select").first.select_option("stay")
        assert page.evaluate(listed) == expected("stay", "shuffle")
        assert part(page, "episode").input_value() == str(order[2]), "the episode stays"


def test_the_summary_is_the_difference(browser, page_file):
    """The table has both runs' numbers, and the left ones minus the right ones."""
    with player(browser, page_file) as page:
        choose(page, LABYRINTH)
        page.locator("figure select").nth(1).select_option("stay")
        shown(page)
        rows = part(page, "summary").locator("tbody tr").all_inner_texts()
        table = [row.replace("\u2212", "-").split() for row in rows]
        assert [row[0] for row in table] == ["greedy", "stay", "difference"]
        for agent, row in zip(("greedy", "stay"), table, strict=False):
            people = truth.state(agent, LABYRINTH, 10**6).people
            statuses = [person.status for person in people]
            assert int(row[1]) == statuses.count("evacuated")
            assert int(row[2]) == statuses.count("casualty")
            assert int(row[5]) == truth.steps(agent, LABYRINTH)
        columns = zip(*(map(int, row[1:]) for row in table), strict=True)
        assert all(left - right == difference for left, right, difference in columns)


def test_pointing_tells_of_people_and_cells(browser, page_file):
    """A person under the pointer is described in both grids, an exit or a fire in its own."""
    with player(browser, page_file) as page:
        choose(page, HALL)
        grid, told = page.locator("figure canvas").first, page.locator(".ep-told")
        box = grid.bounding_box()

        def point(row, col):
            size = box["width"] / 9
            grid.hover(position={"x": (col + 0.5) * size, "y": (row + 0.5) * size})

        people = truth.state("greedy", HALL, 0).people
        point(*people[0].position)
        row, col = people[0].position
        said = f"{people[0].id} · active · row {row}, column {col}"
        page.wait_for_function("document.querySelector('.ep-told').textContent !== ''")
        assert told.all_inner_texts() == [said, said]
        point(0, 8)
        page.wait_for_function("document.querySelector('.ep-told').textContent.startsWith('exit')")
        assert told.first.inner_text() == "exit E1 · 0 evacuated here · row 0, column 8"
        point(3, 8)
        page.wait_for_function("document.querySelector('.ep-told').textContent.startsWith('burn')")
        assert told.all_inner_texts() == ["burning since step 0 · row 3, column 8", ""]
        point(1, 7)
        page.wait_for_function("document.querySelector('.ep-told').textContent.startsWith('wall')")


def test_a_person_can_be_followed(browser, page_file):
    """Whoever is followed is described at every step, by id, deed and fate, however odd the id."""
    with player(browser, page_file) as page:
        choose(page, HALL)
        for name in ODD_IDS:
            part(page, "follow").select_option(label=name)
            part(page, "scrub").fill("5")
            shown(page, 5)
            page.wait_for_function(
                "(name) => document.querySelector('.ep-told').textContent.startsWith(name)",
                arg=name,
            )
            for panel, agent in enumerate(("greedy", "shuffle")):
                state = truth.state(agent, HALL, 5)
                (person,) = [person for person in state.people if person.id == name]
                said = page.locator(".ep-told").nth(panel).inner_text()
                assert said.startswith(f"{name} · ")
                assert truth.status(state, person) in said
                assert said.endswith(f"row {person.position[0]}, column {person.position[1]}")


def test_a_click_follows(browser, page_file):
    """A click on a person follows it, another one lets it go."""
    with player(browser, page_file) as page:
        choose(page, HALL)
        grid = page.locator("figure canvas").nth(1)
        row, col = truth.state("shuffle", HALL, 0).people[1].position
        size = grid.bounding_box()["width"] / 9
        for followed in ("1", "-1"):
            grid.click(position={"x": (col + 0.5) * size, "y": (row + 0.5) * size})
            page.wait_for_function(
                f"document.querySelector('[data-part=follow]').value === '{followed}'"
            )


def test_a_single_run_has_one_grid(browser, alone_file):
    """Without another run there is nothing to choose and no difference."""
    with player(browser, alone_file) as page:
        assert page.locator("figure:visible").count() == 1
        assert page.locator("figure select").count() == 0
        assert "difference" not in page.locator(".ember-player").inner_text()
        choose(page, HALL)
        press(page, "End")
        assert shown(page, truth.steps("greedy", HALL))


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_window(browser, page_file, width, scheme):
    """Nothing is wider than the window, and the controls are within reach."""
    with player(browser, page_file, width=width, color_scheme=scheme) as page:
        choose(page, LABYRINTH)
        assert overflow(page) == 0
        first, second = (box.bounding_box() for box in page.locator("figure canvas").all())
        side_by_side = second["x"] > first["x"] + first["width"] - 1
        assert side_by_side == (width == 1600)
        play = part(page, "play").bounding_box()
        assert 0 <= play["y"] < 900
        assert play["height"] >= 36


def test_a_window_that_changes_is_followed(browser, page_file):
    """A grid is drawn anew for another width of the window, at the same step."""
    with player(browser, page_file, width=1600) as page:
        choose(page, LABYRINTH)
        press(page, "End")
        last = shown(page, truth.steps("shuffle", LABYRINTH))
        wide = page.locator("figure canvas").first.bounding_box()["width"]
        page.set_viewport_size({"width": 400, "height": 900})
        page.wait_for_function(
            f"document.querySelector('figure canvas').getBoundingClientRect().width < {wide}"
        )
        assert (overflow(page), shown(page)) == (0, last)


def test_fine_screens_get_fine_grids(browser, page_file):
    """A screen with more pixels gets a grid with as many more."""
    widths = []
    for ratio in (1, 3):
        with player(browser, page_file, width=800, device_scale_factor=ratio) as page:
            widths.append(page.evaluate("document.querySelector('figure canvas').width"))
    assert widths[1] >= 3 * widths[0] * 0.9


def test_it_is_slow_for_who_wants_little_motion(browser, page_file):
    """With reduced motion, the player starts at a slow speed."""
    with player(browser, page_file, reduced_motion="reduce") as page:
        assert part(page, "speed").input_value() == "1"


def test_everything_has_a_name(browser, page_file):
    """Every control has a name to be read out, and focus is seen."""
    with player(browser, page_file) as page:
        choose(page, LABYRINTH)
        for control in page.locator("button, select, input").all():
            name = control.evaluate(
                "(c) => c.ariaLabel || c.textContent.trim() && c.tagName === 'BUTTON'"
                " || c.closest('label')?.textContent.trim()"
            )
            assert name, control.evaluate("(c) => c.outerHTML.slice(0, 200)")
        label = page.locator("figure canvas").first.get_attribute("aria-label")
        assert label.startswith("greedy, step 0: active 24 (trapped ")
        part(page, "forward").focus()
        press(page, "Tab")
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(style) == "solid"


def test_two_players_share_a_page(browser, runs, tmp_path):
    """Fragments do not disturb each other; keys are for the one that has the focus."""
    path = tmp_path / "both.html"
    fragments = player_section(runs[:2], [0]) + player_section(runs[1:], [2, 1])
    path.write_text(f"<!doctype html><title>x</title>{fragments}<input>", encoding="utf-8")
    with visit(browser, path) as page:
        first, second = page.locator(".ember-player").all()
        for section in (first, second):
            section.locator("figure canvas").first.click(position={"x": 1, "y": 1})
            page.wait_for_selector(".ember-player[data-step]")
        second.focus()
        press(page, "ArrowRight")
        page.wait_for_selector(".ember-player[data-step='1']")
        assert first.get_attribute("data-step") == "0"
        page.locator("body > input").focus()
        press(page, "ArrowRight", "n")
        page.wait_for_timeout(200)
        assert second.get_attribute("data-step") == "1"
        assert overflow(page) == 0


def test_a_hurried_reader_sees_the_last_choice(browser, page_file):
    """Of episodes chosen faster than they are unpacked, the last one is shown whole."""
    with player(browser, page_file) as page:
        page.evaluate(
            """() => {
              const unpack = Response.prototype.json;
              let delay = 300; // whoever came first is ready last
              Response.prototype.json = async function () {
                const unpacked = await unpack.call(this);
                await new Promise((done) => setTimeout(done, (delay -= 40)));
                return unpacked;
              };
              const list = document.querySelector("[data-part=episode]");
              const grid = document.querySelector("figure canvas");
              for (const number of ["0", "2", "1", "2"]) {
                list.value = number;
                list.dispatchEvent(new Event("change"));
                grid.dispatchEvent(new PointerEvent("pointermove"));
                grid.click();
              }
            }"""
        )
        shown(page, 0)
        page.wait_for_timeout(400)
        label = page.locator("figure canvas").first.get_attribute("aria-label")
        assert label.startswith(f"greedy, step 0: active {len(ODD_IDS)} ")
        assert part(page, "episode").input_value() == str(HALL)
        assert part(page, "follow").locator("option").count() == len(ODD_IDS) + 1
