// The grids and the legend.

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
      const corner = (right, down, go) =>
        context[go](x + right * cos - down * sin, y + right * sin + down * cos);
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
  const side = size - context.lineWidth;
  context.strokeRect(x - side / 2, y - side / 2, side, side);
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
    const options = data.runs.map((label, run) =>
      make("option", { value: run, textContent: label }),
    );
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
      const track = state.scene.tracks[this.run];
      const [person = NEVER] = peopleAt(track, state.pointed.cell, state.step);
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
    for (let step = 0; step <= state.step; step++) {
      context.lineTo(...this.middle(track.cell(person, step)));
    }
    context.stroke();
    context.beginPath();
    const place = this.middle(track.cell(person, state.step));
    context.arc(...place, Math.max(5, this.size * 0.6), 0, 2 * Math.PI);
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
    const counts = this.counts.textContent;
    this.canvas.ariaLabel = `${data.runs[this.run]}, step ${state.step}: ${counts}`;
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
