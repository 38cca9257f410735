import { NoteList } from "./list.js";
import { button, differences, element, item as itemView } from "./review.js";
import { TextView } from "./text.js";

const $ = (id) => document.getElementById(id);
const COLOURS = 12;

let project = { annotator: "", labels: [], guideline: "" };
let note = null; // { id, revision }
let lastSelection = null;
let waiting = 0;
let chain = Promise.resolve();

class Refused extends Error {
  constructor(status, problem) {
    super([problem.detail ?? problem.title, problem.hint].filter(Boolean).join(". "));
    this.status = status;
  }
}

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: { "X-Deid": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, { title: "deid does not answer. What is shown as saved is saved; start deid annotate again" });
  }
  const value = await answer.json().catch(() => ({ title: `status ${answer.status}` }));
  if (!answer.ok) throw new Refused(answer.status, value);
  return value;
}

// changes go one after the other: each needs the revision that the last one made
function inTurn(work) {
  waiting++;
  saved();
  const run = chain.then(work).catch(failed).finally(() => {
    waiting--;
    saved();
  });
  chain = run;
  return run;
}

function saved() {
  const state = waiting ? "saving" : $("saved").dataset.state === "failed" ? "failed" : "saved";
  $("saved").dataset.state = state;
  $("saved-text").textContent = { saving: "Saving", saved: "Saved", failed: "Not saved" }[state];
}

async function failed(error) {
  if (!(error instanceof Refused)) throw error;
  if (error.status === 409) {
    await reload();
    message("This note was changed in another tab or window, so it was loaded again. Look at it, then repeat the change.");
  } else {
    if (error.status === 0) $("saved").dataset.state = "failed";
    message(error.message);
  }
}

function message(text) {
  const box = $("message");
  box.replaceChildren();
  if (!text) return;
  const words = document.createElement("span");
  words.textContent = text;
  const close = button("Close", () => message(""));
  box.append(words, close);
}

function say(text) {
  $("status").textContent = text;
}

// labels

function colour(category) {
  const place = project.labels.findIndex((label) => label.category === category);
  return place < 0 ? 0 : place % COLOURS;
}

function drawLabels() {
  const counts = new Map();
  for (const mark of view.sorted) counts.set(mark.category, (counts.get(mark.category) ?? 0) + 1);
  const chosen = view.marks.get(view.chosen)?.category;
  $("labels").replaceChildren(
    ...project.labels.map(({ category, key }) => {
      const made = document.createElement("button");
      made.type = "button";
      made.className = `label c${colour(category)}`;
      made.dataset.category = category;
      if (key) made.setAttribute("aria-keyshortcuts", key);
      const shown = element("kbd", key || "–");
      made.append(shown, element("span", category, "word"), element("span", String(counts.get(category) ?? ""), "count"));
      made.classList.toggle("chosen", category === chosen);
      made.addEventListener("mousedown", (event) => event.preventDefault()); // the selection stays
      made.addEventListener("click", () => label(category));
      return made;
    }),
  );
}

// the note

const view = new TextView($("text"), colour);
const list = new NoteList($("list"), $("rows"), (id) => open(id));

function open(id) {
  return inTurn(async () => {
    const found = await ask("GET", `/api/notes/${id}`);
    note = { id, revision: found.revision };
    message("");
    view.load(found.text, found.marks);
    list.select(id);
    const entry = list.byId.get(id);
    list.set(id, { revision: found.revision });
    $("name").textContent = entry?.name ?? String(id);
    sessionStorage.setItem("note", String(id));
    $("text").focus({ preventScroll: true });
    refresh();
    drawHistory().catch(failed);
    others = {};
    loadOthers().catch(failed);
    const open = view.sorted.filter((mark) => mark.state === "suggested").length;
    say(`${entry?.name ?? "Note"}: ${open} suggestions, ${view.sorted.length - open} marks`);
  });
}

async function reload() {
  if (!note) return;
  const found = await ask("GET", `/api/notes/${note.id}`);
  note.revision = found.revision;
  view.replace(found.marks);
  await loadNotes();
  refresh();
}

async function loadNotes() {
  list.load(await ask("GET", "/api/notes"));
  if (note) list.select(note.id);
  drawProgress();
}

function drawProgress() {
  const done = list.done();
  $("bar").value = list.all.length ? done / list.all.length : 0;
  $("counts").textContent = `${done} of ${list.all.length} notes done`;
}

function refresh() {
  drawLabels();
  drawMark();
  const entry = note && list.byId.get(note.id);
  $("done").setAttribute("aria-pressed", String(entry?.state === "done"));
  for (const id of ["undo", "redo", "previous", "next", "done"]) $(id).disabled = !note;
  drawProgress();
  drawOthers();
}

function take(found) {
  note.revision = found.revision;
  view.change(found.changed, found.gone);
  const entry = list.byId.get(note.id);
  list.set(note.id, { revision: found.revision, state: entry?.state === "new" ? "begun" : entry?.state });
  for (const id of found.notes ?? []) if (list.byId.get(id)?.state === "new") list.set(id, { state: "begun" });
}

function act(path, make, after) {
  if (!note) return Promise.resolve();
  const id = note.id;
  return inTurn(async () => {
    if (note.id !== id) return;
    const body = make();
    if (!body) return;
    const found = await ask("POST", `/api/notes/${id}/${path}`, { revision: note.revision, ...body });
    take(found);
    after?.(found);
    refresh();
  });
}

function change(one, after) {
  return act("changes", () => ({ changes: [one] }), after);
}

// what an annotator does

function label(category) {
  const selected = view.selected() ?? (view.chosen === null ? lastSelection : null);
  const mark = view.marks.get(view.chosen);
  if (selected) {
    const start = view.point(selected.start), end = view.point(selected.end);
    lastSelection = null;
    return change({ do: "add", start, end, category, quote: view.text.slice(selected.start, selected.end) }, (found) => {
      const made = found.changed.find((one) => one.start === start && one.end === end && one.state === "accepted");
      if (made) choose(made.id);
      say(`${category} marked`);
    });
  }
  if (mark) return change({ do: "relabel", mark: mark.id, category }, () => settled(mark, `${category}`));
  say("Select some text first");
  return Promise.resolve();
}

function settled(mark, words) {
  say(words);
  if (view.marks.has(mark.id) && view.marks.get(mark.id).state !== "rejected") choose(mark.id);
  else {
    view.choose(null);
    $("text").focus({ preventScroll: true });
  }
}

function accept() {
  const mark = view.marks.get(view.chosen);
  if (!mark) return say("No mark is chosen");
  if (mark.state === "accepted") return nextSuggestion(1);
  return change({ do: "accept", mark: mark.id }, () => {
    settled(mark, "accepted");
    nextSuggestion(1);
  });
}

function reject() {
  const mark = view.marks.get(view.chosen);
  if (!mark) return say("No mark is chosen");
  const place = mark.start;
  return change({ do: mark.state === "suggested" ? "reject" : "remove", mark: mark.id }, () => {
    const next = view.sorted.find((one) => one.state === "suggested" && one.start >= place);
    if (next) choose(next.id);
    else settled(mark, "rejected");
    say("rejected");
  });
}

function same(everywhere) {
  const mark = view.marks.get(view.chosen);
  if (!mark) return say("Choose a mark first");
  return act("same", () => ({ mark: mark.id, everywhere }), (found) => {
    settled(mark, "");
    const here = found.changed.length;
    say(everywhere ? `${found.notes.length} notes changed` : `${here} marks changed`);
    if (everywhere && found.notes.some((id) => id !== note.id)) message(`The same text is now marked in ${found.notes.length} notes. One undo takes it back in all.`);
  });
}

// move an end of the chosen mark, or of the selection, by a word
function stretch(atStart, wider) {
  const mark = view.marks.get(view.chosen);
  const selected = mark ? { start: view.unit(mark.start), end: view.unit(mark.end) } : view.selected();
  if (!selected) return;
  let { start, end } = selected;
  if (atStart) {
    const word = wider ? view.wordBefore(start) : view.wordBehind(view.wordBehind(start)?.end ?? end);
    if (!word || word.start >= end) return;
    start = word.start;
  } else {
    const word = wider ? view.wordBehind(end) : view.wordBefore(view.wordBefore(end)?.start ?? start);
    if (!word || word.end <= start) return;
    end = word.end;
  }
  if (!mark) {
    view.select(start, end);
    return say(view.text.slice(start, end));
  }
  const quote = view.text.slice(start, end);
  return change({ do: "move", mark: mark.id, start: view.point(start), end: view.point(end), quote }, () => settled(mark, quote));
}

function word(step) {
  const mark = view.marks.get(view.chosen);
  const at = mark ? { start: view.unit(mark.start), end: view.unit(mark.end) } : view.selected();
  const found = step > 0 ? view.wordBehind(at ? at.end : view.unit(view.here())) : view.wordBefore(at ? at.start : view.unit(view.here()));
  if (!found) return;
  choose(null);
  $("text").focus({ preventScroll: true });
  view.select(found.start, found.end);
  say(view.text.slice(found.start, found.end));
}

function line(step) {
  const at = view.selected()?.start ?? view.unit(view.chosen === null ? view.here() : view.marks.get(view.chosen).start);
  const begin = view.text.lastIndexOf("\n", at - 1) + 1;
  let target;
  if (step > 0) {
    target = view.text.indexOf("\n", at) + 1;
    if (!target) return;
  } else {
    if (!begin) return;
    target = view.text.lastIndexOf("\n", begin - 2) + 1;
  }
  const found = view.wordBehind(Math.min(target + at - begin, Math.max(target, view.text.indexOf("\n", target) - 1)));
  if (!found) return;
  choose(null);
  $("text").focus({ preventScroll: true });
  view.select(found.start, found.end);
  say(view.text.slice(found.start, found.end));
}

function choose(id, focus = true) {
  lastSelection = null;
  view.choose(id, focus);
  drawMark();
  for (const made of $("labels").children) made.classList.toggle("chosen", made.dataset.category === view.marks.get(id)?.category);
}

// the next suggestion in a direction; false where there is none, and Tab leaves the text
function nextSuggestion(step) {
  const next = view.nextMark(step, (mark) => mark.state === "suggested");
  if (!next) {
    if (step > 0) say("No further suggestion");
    return false;
  }
  choose(next.id);
  return true;
}

function finish(onward) {
  if (!note) return;
  const id = note.id, entry = list.byId.get(id);
  const done = onward || entry.state !== "done";
  return inTurn(async () => {
    const next = onward ? list.beside(1, true) ?? list.all.find((one) => one.state !== "done" && one.id !== id)?.id ?? null : null;
    const found = await ask("POST", `/api/notes/${id}/done`, { done });
    if (note.id === id) note.revision = found.revision;
    list.set(id, { state: done ? "done" : "begun", revision: found.revision });
    refresh();
    say(done ? "Done" : "Open again");
    if (note.id === id && next === null) loadOthers().catch(failed);
    if (next !== null) open(next);
  });
}

function go(step) {
  const next = list.beside(step);
  if (next === null) say("No further note");
  else open(next);
}

// the chosen mark

function drawMark() {
  const pane = $("mark");
  const mark = view.marks.get(view.chosen);
  if (!mark) {
    const hint = element("p", "Nothing is chosen. Click a mark, or press ", "quiet");
    hint.append(element("kbd", "Tab"), " in the text.");
    pane.replaceChildren(hint);
    return;
  }
  const quote = element("p", view.quote(mark.start, mark.end).slice(0, 300), "quote");
  quote.dir = "auto";
  const sure = mark.state === "suggested" && mark.probability !== null ? `, ${(100 * mark.probability).toFixed(0)} % sure` : "";
  const about = element("p", `${mark.category} · ${mark.state}${sure} · by ${mark.by}`, "about");
  const becomes = element("p", mark.replacement === null ? undefined : `replaced by: ${mark.replacement || "nothing"}`, "quote");
  const decide = element("div", undefined, "tools");
  if (mark.state === "suggested") decide.append(button("Accept", accept, "a"), button("Reject", reject, "x"));
  else decide.append(button("Remove", reject, "x"));
  const all = element("div", undefined, "tools");
  all.append(button("All the same in this note", () => same(false), "="), button("… in this project", () => same(true), "+"));
  const ends = element("div", undefined, "tools");
  ends.append(button("Longer", () => stretch(false, true), "]"), button("Shorter", () => stretch(false, false), "["));
  ends.append(button("Start earlier", () => stretch(true, true), "{"), button("Start later", () => stretch(true, false), "}"));
  const remark = document.createElement("input");
  remark.id = "remark";
  remark.value = mark.note;
  remark.autocomplete = "off";
  remark.addEventListener("change", () => change({ do: "note", mark: mark.id, text: remark.value }, () => say("Remark kept")));
  remark.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") choose(mark.id);
  });
  const caption = element("label", "Remark ");
  caption.append(element("kbd", "#"));
  caption.htmlFor = "remark";
  pane.replaceChildren(quote, ...(mark.replacement === null ? [] : [becomes]), about, decide, all, ends, caption, remark);
}

async function drawHistory() {
  if (!note || !$("history").open) return;
  const events = await ask("GET", `/api/notes/${note.id}/history`);
  $("events").replaceChildren(
    ...events.slice(-50).reverse().map(([when, who, what, categories]) => element("li", `${new Date(when).toLocaleString()} · ${who || "suggestions"} · ${what} ${[...new Set(categories)].join(", ")}`)),
  );
}

// the tagger

const STEPS = { train: "Training", score: "Scoring on the notes held out", suggest: "Suggesting in the other notes", done: "Done", idle: "", none: "" };
let learning = "idle";

async function drawTraining(found) {
  const { step, at, of, problem } = found.progress;
  $("training-pane").hidden = step === "none";
  const running = ["train", "score", "suggest"].includes(step);
  $("step").textContent = step === "failed" ? problem : running ? `${STEPS[step]}: ${at} of ${of}` : found.rounds.length ? "" : "It has not been trained yet: finish some notes, then train.";
  $("step").classList.toggle("error", step === "failed");
  $("step-bar").hidden = !running;
  if (running) $("step-bar").value = of ? at / of : 0;
  $("train").disabled = $("suggest").disabled = running;
  if (!found.rounds.length) return;
  const last = found.rounds.at(-1);
  const figure = (value) => (value === null ? "–" : value.toFixed(3));
  const parts = [element("p", `Trained on ${last.trained} notes in ${last.seconds.toFixed(1)} s.`)];
  if (last.held_out) {
    const scores = element("p", `Strict F1 on ${last.held_out} notes held out: before ${figure(last.before)}, after `);
    scores.append(element("strong", figure(last.after)));
    parts.push(scores);
  } else parts.push(element("p", "No note that is done was held out yet, so nothing is known of its quality.", "about"));
  if (found.curve.length > 1) parts.push(curve(found.curve));
  const recall = Object.entries(last.recall);
  if (recall.length) {
    const table = element("table", undefined, "figures");
    const head = element("tr");
    head.append(...["label", "recall", "marks"].map((text) => Object.assign(element("th", text), { scope: "col" })));
    table.append(head);
    for (const [category, [share, spans]] of recall) {
      const row = element("tr");
      row.append(element("td", category), element("td", share.toFixed(2), "number"), element("td", String(spans), "number"));
      table.append(row);
    }
    parts.push(table);
  }
  if (found.advice) {
    const reasons = element("p", `${found.advice.stop ? "You can stop" : "Go on"}: ${found.advice.reasons.join("; ")}`, "about");
    reasons.id = "advice";
    parts.push(reasons);
  }
  for (const part of parts) if (part.localName === "p") part.classList.add("about");
  $("training").replaceChildren(...parts);
}

function curve(points) {
  const width = 260, height = 120, left = 30, bottom = 20;
  const svg = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const most = Math.max(...points.map(([notes]) => notes));
  const low = Math.min(0.5, Math.floor(10 * Math.min(...points.map(([, score]) => score))) / 10);
  const x = (notes) => left + ((width - left - 12) * notes) / most;
  const y = (score) => 8 + ((height - bottom - 8) * (1 - score)) / (1 - low);
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img", "aria-label": `Learning curve: ${points.map(([n, f]) => `${n} notes ${f.toFixed(3)}`).join(", ")}` });
  made.append(svg("line", { class: "axis", x1: left, x2: left, y1: 8, y2: height - bottom }), svg("line", { class: "axis", x1: left, x2: width - 8, y1: height - bottom, y2: height - bottom }));
  made.append(svg("text", { x: 2, y: 14 }, "1.0"), svg("text", { x: 2, y: height - bottom }, low.toFixed(1)), svg("text", { x: left, y: height - 5 }, "F1 by notes trained on"), svg("text", { x: width - 12, y: height - 5, "text-anchor": "end" }, String(most)));
  made.append(svg("polyline", { class: "line", points: points.map(([n, f]) => `${x(n)},${y(f)}`).join(" ") }));
  for (const [n, f] of points) made.append(svg("circle", { cx: x(n), cy: y(f), r: 3 }));
  return made;
}

async function watchTraining() {
  try {
    const found = await ask("GET", "/api/training");
    await drawTraining(found);
    const running = ["train", "score", "suggest"].includes(found.progress.step);
    if (running) setTimeout(watchTraining, 500);
    if (learning !== found.progress.step && !running && learning !== "idle") {
      say(found.progress.step === "done" ? "The tagger is done" : $("step").textContent);
      inTurn(reload); // new suggestions
    }
    learning = found.progress.step;
  } catch (error) {
    await failed(error);
  }
}

async function train(alone) {
  try {
    const found = await ask("POST", "/api/training", { suggest_only: alone });
    learning = found.progress.step;
    await drawTraining(found);
    setTimeout(watchTraining, 300);
  } catch (error) {
    await failed(error);
  }
}
$("train").addEventListener("click", () => train(false));
$("suggest").addEventListener("click", () => train(true));

// other annotators, and items

let others = {};

async function loadOthers() {
  const id = note.id;
  const found = project.adjudicates || list.byId.get(id)?.state === "done" ? await ask("GET", `/api/notes/${id}/others`) : {};
  if (note.id !== id) return;
  others = found;
  drawOthers();
}

function drawOthers() {
  $("compare-pane").hidden = !Object.keys(others).length;
  if ($("compare-pane").hidden) return;
  const mine = view.sorted.filter((mark) => mark.state === "accepted");
  const go = (start, end) => {
    $("text").focus({ preventScroll: true });
    view.choose(null);
    view.select(view.unit(start), view.unit(end));
  };
  $("compare").replaceChildren(...differences(mine, others, (start, end) => view.quote(start, end), go));
}

let review = { kinds: {}, items: [] };
let reviewed = 0;

async function loadItems() {
  review = await ask("GET", "/api/items");
  $("review").hidden = !review.items.length;
  $("review-count").textContent = `${review.items.filter((one) => !one.mine).length} open`;
}

function drawItem() {
  const one = review.items[reviewed];
  $("review-place").textContent = `${reviewed + 1} of ${review.items.length} · ${one.kind}${one.mine ? ` · you decided: ${one.mine[0]}` : ""}`;
  const earlier = one.decisions.map(([who, when, decision, comment]) => element("li", `${new Date(when).toLocaleString()} · ${who} · ${decision}${comment ? `: ${comment}` : ""}`));
  const past = element("ol", undefined, "events");
  past.append(...earlier);
  $("review-item").replaceChildren(...itemView(one.content), ...(earlier.length ? [past] : []));
  $("review-comment").value = one.mine?.[1] ?? "";
  $("review-error").textContent = "";
  $("review-decide").replaceChildren(...review.kinds[one.kind].map((decision, place) => button(decision, () => decide(decision), String(place + 1))));
}

async function decide(decision) {
  const one = review.items[reviewed];
  try {
    await ask("POST", `/api/items/${one.id}`, { decision, comment: $("review-comment").value });
    await loadItems();
    say(`${decision} kept`);
    const next = review.items.findIndex((other, place) => place > reviewed && !other.mine);
    if (next >= 0) reviewed = next;
    drawItem();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("review-error").textContent = error.message;
  }
}

function turnItem(step) {
  reviewed = (reviewed + step + review.items.length) % review.items.length;
  drawItem();
}
$("review").addEventListener("click", () => {
  reviewed = Math.max(0, review.items.findIndex((one) => !one.mine));
  drawItem();
  $("review-box").showModal();
});
$("review-back").addEventListener("click", () => turnItem(-1));
$("review-on").addEventListener("click", () => turnItem(1));
$("review-close").addEventListener("click", () => $("review-box").close());
$("review-box").addEventListener("keydown", (event) => {
  const choice = review.kinds[review.items[reviewed]?.kind]?.[Number(event.key) - 1];
  if (event.target.localName === "input" || !choice) return;
  event.preventDefault();
  decide(choice);
});

// keys

const KEYS = [
  ["letter, digit", "label the selection, or relabel the chosen mark"],
  ["Tab, Shift Tab", "next, previous suggestion; leaves the text where there is none"],
  ["a or Enter", "accept, and go on"],
  ["x or Delete", "reject a suggestion, remove a mark"],
  ["z, y", "undo, redo (also Ctrl Z, Ctrl Y)"],
  ["j, k", "next, previous note"],
  ["Ctrl Enter", "done, next note"],
  ["← → ↑ ↓", "choose a word"],
  ["Shift → or ]", "one word longer"],
  ["Shift ← or [", "one word shorter"],
  ["{ and }", "start a word earlier, later"],
  ["=", "all the same in this note"],
  ["+", "all the same in this project"],
  ["#", "remark on the chosen mark"],
  ["u", "the next mark, decided or not"],
  ["Esc", "choose nothing; again: leave the text"],
  ["?", "this list"],
];

function key(event) {
  const control = event.ctrlKey || event.metaKey;
  const pressed = event.key;
  let handled = true;
  if (control && pressed.toLowerCase() === "z") turn(event.shiftKey ? "redo" : "undo");
  else if (control && pressed.toLowerCase() === "y") turn("redo");
  else if (control && pressed === "Enter") finish(true);
  else if (control || event.altKey || event.isComposing) handled = false;
  else if (pressed === "Tab") handled = nextSuggestion(event.shiftKey ? -1 : 1);
  else if (pressed === "ArrowRight") event.shiftKey ? stretch(false, true) : word(1);
  else if (pressed === "ArrowLeft") event.shiftKey ? stretch(false, false) : word(-1);
  else if (pressed === "ArrowDown") line(1);
  else if (pressed === "ArrowUp") line(-1);
  else if (pressed === "Escape") {
    if (view.chosen !== null || view.selected()) {
      choose(null);
      document.getSelection().removeAllRanges();
      $("text").focus({ preventScroll: true });
    } else $("list").focus();
  } else if (pressed === "a" || pressed === "Enter") accept();
  else if (pressed === "x" || pressed === "Delete" || pressed === "Backspace") reject();
  else if (pressed === "z") turn("undo");
  else if (pressed === "y") turn("redo");
  else if (pressed === "j") go(1);
  else if (pressed === "k") go(-1);
  else if (pressed === "u") {
    const next = view.nextMark(1, () => true);
    if (next) choose(next.id);
  } else if (pressed === "=") same(false);
  else if (pressed === "+") same(true);
  else if (pressed === "]") stretch(false, true);
  else if (pressed === "[") stretch(false, false);
  else if (pressed === "{") stretch(true, true);
  else if (pressed === "}") stretch(true, false);
  else if (pressed === "#") $("remark")?.focus();
  else if (pressed === "?") $("help-box").showModal();
  else {
    const found = project.labels.find((one) => one.key === pressed);
    if (found) label(found.category);
    else handled = false;
  }
  if (handled) event.preventDefault();
}

function turn(path) {
  return act(path, () => ({}), (found) => {
    const there = found.changed.filter((mark) => mark.state !== "rejected");
    if (there.length) choose(there[0].id);
    say(path === "undo" ? "Undone" : "Done again");
  });
}

$("text").addEventListener("keydown", key);
$("text").addEventListener("click", (event) => {
  if (view.selected()) return;
  const mark = event.target.closest(".mark");
  choose(mark ? Number(mark.dataset.id) : null);
});
document.addEventListener("selectionchange", () => {
  const selected = view.selected();
  if (selected && view.chosen !== null) {
    view.choose(null);
    drawMark();
  }
  lastSelection = selected;
});
$("undo").addEventListener("click", () => turn("undo"));
$("redo").addEventListener("click", () => turn("redo"));
$("previous").addEventListener("click", () => go(-1));
$("next").addEventListener("click", () => go(1));
$("done").addEventListener("click", () => finish(false));
$("history").addEventListener("toggle", drawHistory);
$("find").addEventListener("input", () => {
  list.find = $("find").value;
  list.arrange();
});
$("order").addEventListener("change", async () => {
  list.order = $("order").value;
  if (list.order === "queue") {
    try {
      list.queue(await ask("GET", "/api/queue"));
    } catch (error) {
      await failed(error);
    }
  }
  list.arrange();
});

// boxes

$("keys").replaceChildren(
  ...KEYS.flatMap(([keys, what]) => {
    const name = element("dt");
    name.append(element("kbd", keys));
    return [name, element("dd", what)];
  }),
);
$("help").addEventListener("click", () => $("help-box").showModal());

function labelRow({ category, key }, fresh) {
  const row = element("div", undefined, "label-row");
  const name = document.createElement("input");
  name.value = category;
  name.readOnly = !fresh;
  name.setAttribute("aria-label", fresh ? "New label" : `Label ${category}`);
  name.placeholder = "new label";
  const letter = document.createElement("input");
  letter.value = key;
  letter.maxLength = 1;
  letter.size = 2;
  letter.setAttribute("aria-label", fresh ? "Key of the new label" : `Key of ${category}`);
  row.append(name, letter);
  return row;
}

$("edit-labels").addEventListener("click", () => {
  $("labels-error").textContent = "";
  $("label-rows").replaceChildren(...project.labels.map((one) => labelRow(one, false)), labelRow({ category: "", key: "" }, true));
  $("labels-box").showModal();
  $("label-rows").lastChild.firstChild.focus();
});
$("labels-cancel").addEventListener("click", () => $("labels-box").close());
$("labels-save").addEventListener("click", async () => {
  const wanted = [...$("label-rows").children].map((row) => ({ category: row.children[0].value.trim(), key: row.children[1].value })).filter((one) => one.category);
  const wrong = wanted.find((one) => project.reserved.includes(one.key) && one.key);
  const twice = wanted.find((one, place) => one.key && wanted.findIndex((other) => other.key === one.key) !== place);
  if (wrong || twice) {
    $("labels-error").textContent = wrong ? `The key ${wrong.key} does something else: take another one.` : `Two labels have the key ${twice.key}.`;
    return;
  }
  try {
    const known = new Map(project.labels.map((one) => [one.category, one.key]));
    const changed = wanted.filter((one) => known.get(one.category) !== one.key);
    // keys that change are taken away first, so that two labels can exchange theirs
    for (const one of changed) if (known.get(one.category)) await ask("PUT", "/api/labels", { category: one.category, key: "" });
    for (const one of changed) project = await ask("PUT", "/api/labels", known.has(one.category) || one.key ? one : { category: one.category });
    $("labels-box").close();
    drawLabels();
    say("Labels saved");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("labels-error").textContent = error.message;
  }
});

function drawGuide() {
  $("guide").textContent = project.guideline || "There is none yet. Write down what is marked and what is not, so that all annotators do the same.";
  $("guide").classList.toggle("quiet", !project.guideline);
}
$("edit-guide").addEventListener("click", () => {
  $("guide-text").value = project.guideline;
  $("guide-box").showModal();
});
$("guide-cancel").addEventListener("click", () => $("guide-box").close());
$("guide-save").addEventListener("click", () =>
  inTurn(async () => {
    await ask("PUT", "/api/guideline", { text: $("guide-text").value });
    project.guideline = $("guide-text").value;
    $("guide-box").close();
    drawGuide();
  }),
);

// light, dark, high contrast

const THEMES = ["system", "light", "dark", "contrast"];
function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme-name").textContent = name;
  localStorage.setItem("theme", name);
}
theme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system");
$("theme").addEventListener("click", () => theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));

window.addEventListener("beforeunload", (event) => {
  if (waiting) event.preventDefault();
});

inTurn(async () => {
  project = await ask("GET", "/api/project");
  $("who").textContent = `· ${project.annotator}`;
  drawGuide();
  await loadNotes();
  refresh();
  const before = Number(sessionStorage.getItem("note"));
  const first = list.byId.get(before) ?? list.all.find((entry) => entry.state !== "done") ?? list.all[0];
  if (first) open(first.id);
  watchTraining();
  await loadItems();
  if (!first && review.items.length) $("review").click();
});
