// What is told: lists, the table, and what is under the pointer.

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
  const rows = sides().map((run) =>
    row(data.runs[run], names.map((name) => result(episode, run, name))),
  );
  const differences = names.map((name) => signed(difference(episode, name)));
  if (compares) rows.push(row("difference", differences));
  const heads = [`of ${result(episode, 0, "people")} people`, ...names].map((name) =>
    make("th", { scope: "col", textContent: name.replaceAll("_", " ") }),
  );
  const head = make("thead", {}, make("tr", {}, ...heads));
  ui.summary.replaceChildren(head, make("tbody", {}, ...rows));
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
