// What is shown, and where everybody is after each step.

const NEVER = -1;
const SPEEDS = [1, 2, 4, 8, 16, 32, 64]; // steps a second
const LARGEST_CELL = 40; // CSS pixels
const SMALLEST_PERSON = 4; // CSS pixels, also where cells are smaller
const CAUSES = { [-1]: "entered_fire", [-2]: "fire_spread" };

const root = document.currentScript.closest(".ember-player");
const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
const column = Object.fromEntries(data.headlines.map((name, index) => [name, index]));
const alone = document.body.dataset.player !== undefined;
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const compares = data.runs.length > 1;
const parts = (name) => [...root.querySelectorAll(`[data-part="${name}"]`)];
const ui = new Proxy({}, { get: (_, name) => parts(name)[0] });

const state = {
  order: [], // indices of data.episodes, as the list shows them
  episode: 0,
  step: 0,
  playing: false,
  speed: calm ? 1 : 3,
  followed: NEVER, // index of a person
  pointed: null, // {panel, cell}
  world: null,
  scene: null, // {world, fire, tracks}: the episode that is shown; null while one is unpacked
};

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

const worlds = {};
async function worldOf(name) {
  if (!worlds[name]) {
    const world = await unpack(data.worlds[name]);
    const { width, height } = world;
    const walls = new Uint8Array(width * height);
    let at = 0;
    world.walls.forEach((length, index) => walls.fill(index % 2, at, (at += length)));
    const moves = { stay: 0, north: -width, south: width, east: 1, west: -1 };
    worlds[name] = { ...world, walls, moves };
  }
  return worlds[name];
}

// One run's play: where everybody is after each step, and what they did in it.
class Track {
  constructor(world, play, steps) {
    const size = (this.size = world.people.length);
    Object.assign(this, { steps, ends: play.ends, fates: play.fates, since: play.trapped });
    this.cells = new Int32Array((steps + 1) * size);
    this.deeds = new Int8Array((steps + 1) * size).fill(NEVER);
    world.people.forEach(([, cell], person) => (this.cells[person] = cell));
    let read = 0;
    for (let step = 1; step <= steps; step++) {
      for (let person = 0; person < size; person++) {
        const now = step * size + person;
        this.cells[now] = this.cells[now - size];
        if (this.ends[person] !== NEVER && this.ends[person] < step) continue;
        const deed = (this.deeds[now] = play.deeds.charCodeAt(read++) - 97);
        const [action, outcome] = data.deeds[deed];
        if (outcome === "moved") this.cells[now] += world.moves[action];
      }
    }
  }

  cell(person, step) {
    return this.cells[Math.min(step, this.steps) * this.size + person];
  }

  deed(person, step) {
    const deed = step > this.steps ? NEVER : this.deeds[step * this.size + person];
    return deed === NEVER ? null : data.deeds[deed];
  }

  status(person, step) {
    if (this.ends[person] !== NEVER && this.ends[person] <= step) {
      return this.fates[person] < 0 ? "casualty" : "evacuated";
    }
    return this.since[person] !== NEVER && this.since[person] <= step ? "trapped" : "active";
  }

  count(step) {
    const found = { active: 0, trapped: 0, evacuated: 0, casualty: 0 };
    for (let person = 0; person < this.size; person++) found[this.status(person, step)]++;
    return found;
  }
}

const sides = () => panels.map((panel) => panel.run);
const steps = () => Math.max(0, ...sides().map((run) => state.scene?.tracks[run].steps ?? 0));
const result = (episode, run, name) => episode.results[run][column[name]];

function difference(episode, name = "evacuated") {
  const [left, right] = sides();
  return compares ? result(episode, left, name) - result(episode, right, name) : 0;
}

function signed(number) {
  return number > 0 ? `+${number}` : number < 0 ? `−${-number}` : "0";
}
