// The list of notes: only the rows in view are in the page, so that ten thousand cost what twenty do.

const STATES = { new: "new", begun: "begun", done: "done" };

export class NoteList {
  constructor(box, rows, open) {
    this.box = box;
    this.rows = rows;
    this.open = open;
    this.all = [];
    this.byId = new Map();
    this.shown = [];
    this.at = -1; // place in shown of the note that is open
    this.cursor = 0;
    this.order = "added";
    this.find = "";
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("keydown", (event) => this.#key(event));
    rows.addEventListener("click", (event) => {
      const row = event.target.closest("[data-place]");
      if (row) this.open(this.shown[Number(row.dataset.place)].id);
    });
  }

  load(entries) {
    this.all = entries.map(([id, name, length, state, uncertainty, revision]) => ({ id, name, length, state, uncertainty, revision }));
    this.byId = new Map(this.all.map((entry) => [entry.id, entry]));
    this.arrange();
  }

  queue(places) {
    this.places = new Map(places.map(([id], place) => [id, place]));
  }

  arrange() {
    const open = this.shown[this.at]?.id;
    const find = this.find.toLowerCase();
    this.shown = find ? this.all.filter((entry) => entry.name.toLowerCase().includes(find) || entry.state === find) : [...this.all];
    const last = (entry) => (entry.state === "done" ? 1 : 0);
    if (this.order === "unsure") this.shown.sort((a, b) => last(a) - last(b) || (b.uncertainty ?? -1) - (a.uncertainty ?? -1) || a.id - b.id);
    const place = (entry) => this.places?.get(entry.id) ?? Infinity;
    if (this.order === "queue") this.shown.sort((a, b) => last(a) - last(b) || Math.min(1e9, place(a)) - Math.min(1e9, place(b)) || a.id - b.id);
    if (this.order === "open") this.shown.sort((a, b) => last(a) - last(b) || a.id - b.id);
    this.at = this.shown.findIndex((entry) => entry.id === open);
    this.cursor = Math.max(0, Math.min(this.cursor, this.shown.length - 1));
    this.draw();
  }

  rowHeight() {
    return 2.9 * parseFloat(getComputedStyle(this.box).fontSize);
  }

  draw() {
    const height = this.rowHeight();
    this.rows.style.height = `${Math.max(1, this.shown.length) * height}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - 5);
    const last = Math.min(this.shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + 5);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(this.#row(place, height));
    this.rows.replaceChildren(...rows);
    const active = `note-${this.shown[this.cursor]?.id}`;
    if (this.cursor >= first && this.cursor < last) this.box.setAttribute("aria-activedescendant", active);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #row(place, height) {
    const entry = this.shown[place];
    const row = document.createElement("div");
    row.className = `row ${entry.state}`;
    if (place === this.cursor) row.classList.add("cursor");
    row.id = `note-${entry.id}`;
    row.dataset.place = place;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(place === this.at));
    row.setAttribute("aria-setsize", this.shown.length);
    row.setAttribute("aria-posinset", place + 1);
    row.style.top = `${place * height}px`;
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = entry.name;
    const about = document.createElement("span");
    about.className = "about";
    const unsure = entry.uncertainty === null ? "" : ` · unsure ${entry.uncertainty.toFixed(2)}`;
    about.textContent = `${STATES[entry.state]}${unsure}`;
    row.append(name, about);
    return row;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight()) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.shown.length, End: this.shown.length };
    if (event.key in steps) {
      this.cursor = Math.max(0, Math.min(this.shown.length - 1, this.cursor + steps[event.key]));
      this.#view(this.cursor);
      this.draw();
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.shown[this.cursor]) this.open(this.shown[this.cursor].id);
    } else return;
    event.preventDefault();
  }

  #view(place) {
    const height = this.rowHeight();
    if (place * height < this.box.scrollTop) this.box.scrollTop = place * height;
    else if ((place + 1) * height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = (place + 1) * height - this.box.clientHeight;
  }

  select(id) {
    this.at = this.shown.findIndex((entry) => entry.id === id);
    if (this.at >= 0) {
      this.cursor = this.at;
      this.#view(this.at);
    }
    this.draw();
  }

  set(id, values) {
    const entry = this.byId.get(id);
    if (!entry) return;
    Object.assign(entry, values);
    this.draw();
  }

  // the note behind or before the open one in the order that is shown; with `waiting` only those that are not done
  beside(step, waiting = false) {
    for (let place = this.at + step; place >= 0 && place < this.shown.length; place += step) {
      if (!waiting || this.shown[place].state !== "done") return this.shown[place].id;
    }
    return null;
  }

  done() {
    return this.all.reduce((sum, entry) => sum + (entry.state === "done" ? 1 : 0), 0);
  }
}
