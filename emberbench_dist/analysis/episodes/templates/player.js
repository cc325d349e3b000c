// The one state, shown whole, and what changes it.

let frame = 0;
function refresh() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    if (state.scene) show();
  });
}

function show() {
  const last = steps();
  const rank = state.order.indexOf(state.episode);
  ui.previous.disabled = rank === 0;
  ui.next.disabled = rank === state.order.length - 1;
  ui.rank.textContent = `${rank + 1} of ${state.order.length}`;
  ui.step.ariaLive = state.playing ? "off" : "polite";
  ui.step.textContent = `Step ${state.step} of ${last}`;
  ui.play.textContent = state.playing ? "Pause" : "Play";
  ui.scrub.max = last;
  ui.scrub.value = state.step;
  ui.scrub.ariaValueText = ui.step.textContent;
  ui.first.disabled = ui.back.disabled = state.step === 0;
  ui.last.disabled = ui.forward.disabled = state.step === last;
  ui.speed.value = state.speed;
  ui.follow.value = state.followed;
  for (const panel of panels) panel.draw();
  root.dataset.step = state.step;
}

function go(step) {
  state.step = Math.max(0, Math.min(step, steps()));
  refresh();
}

function pause() {
  state.playing = false;
  refresh();
}

function toggle() {
  if (state.playing) return pause();
  if (state.step >= steps()) state.step = 0;
  state.playing = true;
  let since = performance.now();
  const tick = (now) => {
    if (!state.playing) return;
    const pace = 1000 / SPEEDS[state.speed];
    if (now - since > 2 * pace + 500) since = now - pace; // the page was asleep
    const due = Math.floor((now - since) / pace);
    if (due > 0) {
      since += due * pace;
      go(state.step + due);
    }
    if (state.step >= steps()) return pause();
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  refresh();
}

function pace(change) {
  state.speed = Math.max(0, Math.min(SPEEDS.length - 1, state.speed + change));
  refresh();
}

function skip(change) {
  const rank = state.order.indexOf(state.episode) + change;
  if (rank >= 0 && rank < state.order.length) load(state.order[rank]);
}

function fillFollow(world) {
  const options = world.people.map(([id], person) =>
    make("option", { value: person, textContent: id }),
  );
  ui.follow.replaceChildren(make("option", { value: NEVER, textContent: "nobody" }), ...options);
}

async function load(index) {
  Object.assign(state, { playing: false, episode: index, step: 0, pointed: null, scene: null });
  delete root.dataset.step;
  const episode = data.episodes[index];
  try {
    const [world, scenes] = await Promise.all([worldOf(episode.scenario), unpack(episode.data)]);
    if (state.episode !== index) return; // another one was chosen meanwhile
    if (state.world !== world) {
      Object.assign(state, { followed: NEVER, world });
      fillFollow(world);
    }
    const tracks = scenes.plays.map(
      (play, run) => new Track(world, play, result(episode, run, "steps")),
    );
    state.scene = { world, fire: scenes.fire, tracks };
  } catch (error) {
    ui.step.textContent = `This browser cannot unpack the episode: ${error.message}`;
    return;
  }
  ui.episode.value = index;
  fillSummary();
  refresh();
}

const KEYS = {
  " ": toggle,
  ArrowLeft: () => go(state.step - 1),
  ArrowRight: () => go(state.step + 1),
  Home: () => go(0),
  End: () => go(steps()),
  "-": () => pace(-1),
  "+": () => pace(1),
  "=": () => pace(1),
  p: () => skip(-1),
  n: () => skip(1),
};

function press(event) {
  const act = KEYS[event.key];
  const on = event.target.closest("select, input, button, summary");
  if (!act || event.ctrlKey || event.metaKey || event.altKey || on?.matches("select")) return;
  if (on?.matches("input") && event.key.length > 1) return; // the slider knows its keys
  if (on?.matches("button, summary") && event.key === " ") return; // presses it
  event.preventDefault();
  act();
}

const figures = parts("panel");
figures[1].hidden = !compares;
const panels = figures.slice(0, compares ? 2 : 1).map((figure, run) => new Panel(figure, run));
ui.previous.textContent = compares ? "◂ Larger difference" : "◂ Previous";
ui.next.textContent = compares ? "Next largest difference ▸" : "Next ▸";
ui.speed.append(
  ...SPEEDS.map((speed, index) =>
    make("option", { value: index, textContent: `${speed} steps/s` }),
  ),
);
const clicks = {
  first: () => go(0),
  back: () => go(state.step - 1),
  play: toggle,
  forward: () => go(state.step + 1),
  last: () => go(steps()),
  previous: () => skip(-1),
  next: () => skip(1),
};
for (const [name, act] of Object.entries(clicks)) ui[name].addEventListener("click", act);
ui.scrub.addEventListener("input", () => go(Number(ui.scrub.value)));
ui.episode.addEventListener("change", () => load(Number(ui.episode.value)));
ui.speed.addEventListener("change", () => (state.speed = Number(ui.speed.value)));
ui.follow.addEventListener("change", () => {
  state.followed = Number(ui.follow.value);
  refresh();
});
(alone ? document : root).addEventListener("keydown", press);
new ResizeObserver(refresh).observe(root);
addEventListener("resize", refresh);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  drawLegend();
  refresh();
});

// For scripts: who is where, and what burns, after a step.
root.player = {
  people: (run, step) =>
    state.scene.world.people.map(([id], person) => {
      const track = state.scene.tracks[run];
      return [id, track.cell(person, step), track.status(person, step), track.deed(person, step)];
    }),
  burning: (step) => [...state.scene.fire.keys()].filter((cell) => burning(cell, step)),
};
readColours();
drawLegend();
fillList();
load(state.order[0]);
