(() => {
  "use strict";
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

  // ---- data ----------------------------------------------------------------------------------

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
  const steps = () => state.scene ? Math.max(...sides().map((run) => state.scene.tracks[run].steps)) : 0;
  const result = (episode, run, name) => episode.results[run][column[name]];

  function difference(episode, name = "evacuated") {
    const [left, right] = sides();
    return compares ? result(episode, left, name) - result(episode, right, name) : 0;
  }

  function signed(number) {
    return number > 0 ? `+${number}` : number < 0 ? `−${-number}` : "0";
  }

  // ---- what is told --------------------------------------------------------------------------

  function headline(episode) {
    const [left, right] = sides();
    const place = `${episode.scenario}, seed ${episode.seed} (episode ${episode.episode})`;
    const out = result(episode, left, "evacuated");
    if (!compares) return `${place}: ${out} of ${result(episode, left, "people")} evacuated`;
    const other = result(episode, right, "evacuated");
    return `${place}: ${out} against ${other} evacuated, ${signed(difference(episode))}`;
  }

  function fillList() {
    const shown = data.episodes[state.episode];
    state.order = [...data.episodes.keys()].sort((one, two) => {
      const [first, second] = [data.episodes[one], data.episodes[two]];
      const larger = Math.abs(difference(second)) - Math.abs(difference(first));
      return larger || first.episode - second.episode;
    });
    const options = state.order.map((index) =>
      make("option", { value: index, textContent: headline(data.episodes[index]) }),
    );
    ui.episode.replaceChildren(...options);
    ui.episode.value = data.episodes.indexOf(shown);
  }

  function fillSummary() {
    const episode = data.episodes[state.episode];
    const names = data.headlines.filter((name) => name !== "people");
    const row = (label, cells) =>
      make(
        "tr",
        {},
        make("th", { scope: "row", textContent: label }),
        ...cells.map((cell) => make("td", { textContent: cell })),
      );
    const rows = sides().map((run) => row(data.runs[run], names.map((name) => result(episode, run, name))));
    if (compares) rows.push(row("difference", names.map((name) => signed(difference(episode, name)))));
    const heads = [`of ${result(episode, 0, "people")} people`, ...names].map((name) =>
      make("th", { scope: "col", textContent: name.replaceAll("_", " ") }),
    );
    ui.summary.replaceChildren(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  }

  function place(cell) {
    const { width } = state.scene.world;
    return `row ${Math.floor(cell / width)}, column ${cell % width}`;
  }

  function fate(track, person, step) {
    const status = track.status(person, step);
    if (status === "trapped") return `trapped since step ${track.since[person]}`;
    if (status === "active") return "active";
    const [end, kind] = [track.ends[person], track.fates[person]];
    if (status === "casualty") return `casualty at step ${end}: ${CAUSES[kind]}`;
    return `evacuated at step ${end} by ${state.scene.world.exits[kind][0]}`;
  }

  function aboutPerson(track, person, step) {
    const deed = track.deed(person, step);
    const did = deed ? ` · ${deed[0]}: ${deed[1]}` : "";
    const [id] = state.scene.world.people[person];
    return `${id} · ${fate(track, person, step)}${did} · ${place(track.cell(person, step))}`;
  }

  function peopleAt(track, cell, step) {
    const here = [];
    for (let person = 0; person < track.size; person++) {
      const gone = track.status(person, step) === "evacuated";
      if (!gone && track.cell(person, step) === cell) here.push(person);
    }
    return here.sort((one, two) => track.ends[one] - track.ends[two]); // the one who is there first
  }

  function leftBy(track, exit, step) {
    let left = 0;
    for (let person = 0; person < track.size; person++) {
      left += track.fates[person] === exit && track.status(person, step) === "evacuated";
    }
    return left;
  }

  function aboutCell(track, cell, step) {
    const { world, fire } = state.scene;
    const exit = world.exits.findIndex(([, at]) => at === cell);
    const burns = burning(cell) ? `burning since step ${fire[cell]}` : "";
    if (exit === NEVER) return `${burns || (world.walls[cell] ? "wall" : "floor")} · ${place(cell)}`;
    const left = `exit ${world.exits[exit][0]} · ${leftBy(track, exit, step)} evacuated here`;
    return [left, burns, place(cell)].filter(Boolean).join(" · ");
  }

  const burning = (cell, step = state.step) =>
    state.scene.fire[cell] !== NEVER && state.scene.fire[cell] <= step;

  // Whom the reader looks at: the person under the pointer, or the one who is followed.
  function looked() {
    if (!state.pointed) return state.followed;
    const track = state.scene.tracks[state.pointed.panel.run];
    const [person = NEVER] = peopleAt(track, state.pointed.cell, state.step);
    return person === NEVER ? state.followed : person;
  }

  function told(panel, track) {
    const pointed = state.pointed && state.pointed.panel === panel ? state.pointed : null;
    if (pointed) {
      const here = peopleAt(track, pointed.cell, state.step);
      if (here.length) return here.map((person) => aboutPerson(track, person, state.step)).join("\n");
      return aboutCell(track, pointed.cell, state.step);
    }
    const person = looked();
    return person === NEVER ? "" : aboutPerson(track, person, state.step);
  }

  // ---- pictures ------------------------------------------------------------------------------

  let colours = {};
  function readColours() {
    const style = getComputedStyle(root);
    const names = "floor mesh wall exit exit-ink fire fire-ink active trapped lost ring";
    colours = Object.fromEntries(
      names.split(" ").map((name) => [name, style.getPropertyValue(`--ep-${name}`).trim()]),
    );
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    for (const name of ["floor", "wall", "exit", "fire"]) {
      probe.fillStyle = colours[name];
      probe.fillRect(0, 0, 1, 1);
      colours[`${name}Pixel`] = new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer)[0];
    }
  }

  // Each takes a context, the middle of a cell and its size; colour alone never tells them apart.
  const glyphs = {
    fire(context, x, y, size) {
      context.moveTo(x, y - size * 0.36);
      context.lineTo(x + size * 0.3, y + size * 0.32);
      context.lineTo(x - size * 0.3, y + size * 0.32);
    },
    active(context, x, y, size) {
      context.moveTo(x + size * 0.34, y);
      context.arc(x, y, size * 0.34, 0, 2 * Math.PI);
    },
    trapped(context, x, y, size) {
      const reach = size * 0.46;
      context.moveTo(x, y - reach);
      for (const [right, down] of [[1, 0], [0, 1], [-1, 0]]) {
        context.lineTo(x + right * reach, y + down * reach);
      }
    },
    casualty(context, x, y, size) {
      const [long, half] = [size * 0.34, size * 0.1];
      for (const turn of [Math.PI / 4, -Math.PI / 4]) {
        const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
        const corner = (right, down, go) => context[go](x + right * cos - down * sin, y + right * sin + down * cos);
        corner(-long, -half, "moveTo");
        corner(long, -half, "lineTo");
        corner(long, half, "lineTo");
        corner(-long, half, "lineTo");
      }
    },
  };
  const inks = { fire: "fire-ink", active: "active", trapped: "trapped", casualty: "lost" };

  function drawAll(context, kind, places, size) {
    context.fillStyle = colours[inks[kind]];
    context.beginPath();
    for (const [x, y] of places) {
      if (size < 5) context.rect(x - size / 2, y - size / 2, size, size);
      else glyphs[kind](context, x, y, size);
    }
    context.fill();
  }

  function drawExit(context, x, y, size, word) {
    context.strokeStyle = context.fillStyle = colours["exit-ink"];
    context.lineWidth = Math.max(1, size * 0.08);
    const inset = context.lineWidth / 2;
    context.strokeRect(x - size / 2 + inset, y - size / 2 + inset, size - 2 * inset, size - 2 * inset);
    if (size < 12) return;
    context.font = `600 ${Math.floor(size * (word.length > 2 ? 0.42 : 0.6))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(word, x, y + size * 0.04);
  }

  class Panel {
    constructor(figure, run) {
      this.run = run;
      this.ground = document.createElement("canvas"); // a pixel a cell
      this.canvas = make("canvas");
      this.canvas.setAttribute("role", "img");
      this.counts = make("p");
      this.told = make("p", { className: "ep-told" });
      this.told.style.whiteSpace = "pre-line";
      figure.append(this.title(), this.canvas, make("figcaption", {}, this.counts, this.told));
      this.listen();
    }

    title() {
      if (!compares) return make("strong", { textContent: data.runs[this.run] });
      const options = data.runs.map((label, run) => make("option", { value: run, textContent: label }));
      const select = make("select", { ariaLabel: "Run of this grid" }, ...options);
      select.value = this.run;
      select.addEventListener("change", () => {
        this.run = Number(select.value);
        state.step = Math.min(state.step, steps());
        fillList();
        fillSummary();
        refresh();
      });
      return select;
    }

    listen() {
      const point = (event) => {
        if (!state.scene) return;
        const { width, height } = state.scene.world;
        const row = Math.floor((event.offsetY / this.canvas.clientHeight) * height);
        const col = Math.floor((event.offsetX / this.canvas.clientWidth) * width);
        const inside = row >= 0 && col >= 0 && row < height && col < width;
        state.pointed = inside ? { panel: this, cell: row * width + col } : null;
        refresh();
      };
      this.canvas.addEventListener("pointermove", point);
      this.canvas.addEventListener("pointerleave", () => {
        state.pointed = null;
        refresh();
      });
      this.canvas.addEventListener("click", (event) => {
        point(event);
        if (!state.pointed) return;
        const [person = NEVER] = peopleAt(state.scene.tracks[this.run], state.pointed.cell, state.step);
        state.followed = person === state.followed ? NEVER : person;
      });
    }

    fit() {
      const { width, height } = state.scene.world;
      const room = this.canvas.parentElement.clientWidth - 2;
      const ratio = devicePixelRatio || 1;
      const tall = Math.max(240, innerHeight * 0.7);
      const fitting = Math.min(room / width, tall / height, LARGEST_CELL);
      this.size = Math.max(1, Math.floor(fitting * ratio));
      const [wide, high] = [width * this.size, height * this.size];
      if (this.canvas.width !== wide || this.canvas.height !== high) {
        Object.assign(this.canvas, { width: wide, height: high });
      }
      this.canvas.style.width = `${wide / ratio}px`;
      Object.assign(this.ground, { width, height });
    }

    middle(cell) {
      const { width } = state.scene.world;
      return [((cell % width) + 0.5) * this.size, (Math.floor(cell / width) + 0.5) * this.size];
    }

    draw() {
      const track = state.scene.tracks[this.run];
      this.fit();
      const context = this.canvas.getContext("2d");
      this.drawGround(context);
      this.drawExits(context, track);
      const here = { casualty: [], active: [], trapped: [], evacuated: [] };
      for (let person = 0; person < track.size; person++) {
        const at = this.middle(track.cell(person, state.step));
        here[track.status(person, state.step)].push(at);
      }
      delete here.evacuated;
      const size = Math.max(this.size, SMALLEST_PERSON * (devicePixelRatio || 1));
      for (const [kind, places] of Object.entries(here)) drawAll(context, kind, places, size);
      if (this.size >= 10) this.drawBlocked(context, track);
      this.drawLooked(context, track);
      this.tell(track);
    }

    drawGround(context) {
      const { world, fire } = state.scene;
      const ground = this.ground.getContext("2d");
      const image = ground.createImageData(world.width, world.height);
      const pixels = new Uint32Array(image.data.buffer);
      for (let cell = 0; cell < pixels.length; cell++) {
        pixels[cell] = world.walls[cell] ? colours.wallPixel : colours.floorPixel;
      }
      for (const [, cell] of world.exits) pixels[cell] = colours.exitPixel;
      const flames = [];
      for (let cell = 0; cell < pixels.length; cell++) {
        if (!burning(cell)) continue;
        pixels[cell] = colours.firePixel;
        if (this.size >= 8) flames.push(this.middle(cell));
      }
      ground.putImageData(image, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(this.ground, 0, 0, this.canvas.width, this.canvas.height);
      if (this.size >= 8) this.drawMesh(context);
      drawAll(context, "fire", flames, this.size);
    }

    drawMesh(context) {
      const { width, height } = this.canvas;
      context.fillStyle = colours.mesh;
      for (let x = this.size; x < width; x += this.size) context.fillRect(x, 0, 1, height);
      for (let y = this.size; y < height; y += this.size) context.fillRect(0, y, width, 1);
    }

    drawExits(context, track) {
      state.scene.world.exits.forEach(([, cell], exit) => {
        const left = leftBy(track, exit, state.step);
        drawExit(context, ...this.middle(cell), this.size, left ? String(left) : "E");
      });
    }

    // A bar at the side of the cell that somebody wanted to leave by, and could not.
    drawBlocked(context, track) {
      context.fillStyle = colours.lost;
      for (let person = 0; person < track.size; person++) {
        const deed = track.deed(person, state.step);
        const stands = ["active", "trapped"].includes(track.status(person, state.step));
        if (!stands || !deed || !deed[1].startsWith("blocked")) continue;
        const [x, y] = this.middle(track.cell(person, state.step));
        const [right, down] = { north: [0, -1], south: [0, 1], east: [1, 0], west: [-1, 0] }[deed[0]];
        const [wide, high] = [right ? 0.12 : 0.6, right ? 0.6 : 0.12].map((part) => part * this.size);
        const off = 0.42 * this.size;
        context.fillRect(x + right * off - wide / 2, y + down * off - high / 2, wide, high);
      }
    }

    drawLooked(context, track) {
      const person = looked();
      if (person === NEVER) return;
      context.strokeStyle = colours.ring;
      context.lineWidth = Math.max(1.5, this.size * 0.1);
      context.lineJoin = context.lineCap = "round";
      context.beginPath();
      for (let step = 0; step <= state.step; step++) context.lineTo(...this.middle(track.cell(person, step)));
      context.stroke();
      context.beginPath();
      context.arc(...this.middle(track.cell(person, state.step)), Math.max(5, this.size * 0.6), 0, 2 * Math.PI);
      context.stroke();
    }

    tell(track) {
      const count = track.count(state.step);
      const ended = state.step >= track.steps ? ` · ended at step ${track.steps}` : "";
      const active = count.active + count.trapped;
      this.counts.textContent =
        `active ${active} (trapped ${count.trapped}) · evacuated ${count.evacuated}` +
        ` · casualties ${count.casualty}${ended}`;
      this.told.textContent = told(this, track);
      this.canvas.ariaLabel = `${data.runs[this.run]}, step ${state.step}: ${this.counts.textContent}`;
      this.canvas.dataset.step = state.step;
    }
  }

  function drawLegend() {
    const ratio = devicePixelRatio || 1;
    const entry = (word, paint) => {
      const canvas = make("canvas", { width: 24 * ratio, height: 24 * ratio, ariaHidden: "true" });
      paint(canvas.getContext("2d"), 12 * ratio, 12 * ratio, 24 * ratio);
      return make("span", {}, canvas, word);
    };
    const on = (ground, paint) => (context, x, y, size) => {
      context.fillStyle = colours[ground];
      context.fillRect(0, 0, size, size);
      paint(context, x, y, size);
    };
    const glyph = (kind) => (context, x, y, size) => drawAll(context, kind, [[x, y]], size);
    ui.legend.replaceChildren(
      entry("active person", on("floor", glyph("active"))),
      entry("trapped: no way to an exit that does not burn", on("floor", glyph("trapped"))),
      entry("casualty", on("fire", glyph("casualty"))),
      entry("fire", on("fire", glyph("fire"))),
      entry("exit, and how many left by it", on("exit", (...at) => drawExit(...at, "E"))),
      entry("wall", on("wall", () => {})),
      make("span", {}, "a bar at the side of a person: a move that was blocked"),
    );
  }

  // ---- one state, shown whole ----------------------------------------------------------------

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
    const options = world.people.map(([id], person) => make("option", { value: person, textContent: id }));
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
      const tracks = scenes.plays.map((play, run) => new Track(world, play, result(episode, run, "steps")));
      state.scene = { world, fire: scenes.fire, tracks };
    } catch (error) {
      ui.step.textContent = `This browser cannot unpack the episode: ${error.message}`;
      return;
    }
    ui.episode.value = index;
    fillSummary();
    refresh();
  }

  // ---- beginning -----------------------------------------------------------------------------

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
    ...SPEEDS.map((speed, index) => make("option", { value: index, textContent: `${speed} steps/s` })),
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
})();
