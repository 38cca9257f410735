// What is looked at beside one's own marks: those of other annotators, and items such as pairs of rows.

export function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

export function button(text, run, key) {
  const made = document.createElement("button");
  made.type = "button";
  made.append(text);
  if (key) {
    made.append(" ", element("kbd", key));
    made.setAttribute("aria-keyshortcuts", key);
  }
  made.addEventListener("click", run);
  return made;
}

function table(heads, rows) {
  const made = element("table", undefined, "figures");
  const head = element("tr");
  head.append(...heads.map((text) => Object.assign(element("th", text), { scope: "col" })));
  const body = element("tbody");
  body.append(...rows);
  const top = element("thead");
  top.append(head);
  made.append(top, body);
  return made;
}

// where annotators differ: one row for each stretch, with what each of them has there
export function differences(mine, others, quote, go) {
  const layers = [["you", mine], ...Object.entries(others)];
  const borders = layers.flatMap(([, marks]) => marks.map((mark) => [mark.start, mark.end])).sort((a, b) => a[0] - b[0]);
  const stretches = [];
  for (const [start, end] of borders) {
    const last = stretches.at(-1);
    if (last && start < last[1]) last[1] = Math.max(last[1], end);
    else stretches.push([start, end]);
  }
  const rows = [];
  let same = 0;
  for (const [start, end] of stretches) {
    const there = layers.map(([, marks]) => marks.filter((mark) => mark.start >= start && mark.end <= end));
    const told = there.map((marks) => marks.map((mark) => `${mark.start}:${mark.end}:${mark.category}`).join());
    if (told.every((one) => one === told[0])) {
      same++;
      continue;
    }
    const row = element("tr");
    const place = element("td");
    place.append(button(quote(start, end).slice(0, 60), () => go(start, end)));
    row.append(place, ...there.map((marks) => element("td", marks.map((mark) => (marks.length > 1 || mark.start !== start || mark.end !== end ? `${quote(mark.start, mark.end)} ${mark.category}` : mark.category)).join(", ") || "–")));
    rows.push(row);
  }
  const about = element("p", `${same} stretches alike, ${rows.length} different.`, "about");
  return rows.length ? [about, table(["text", ...layers.map(([name]) => name)], rows)] : [about];
}

function shown(value) {
  return value === null || value === undefined || value === "" ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

// an item: two rows side by side where it is a pair, and its other fields
export function item(content) {
  const { a, b, ...rest } = content;
  const parts = [];
  if (a && b) {
    parts.push(
      table(
        ["column", "row", "other row"],
        [...new Set([...Object.keys(a), ...Object.keys(b)])].map((name) => {
          const row = element("tr", undefined, shown(a[name]) === shown(b[name]) ? "" : "differs");
          row.append(Object.assign(element("th", name), { scope: "row" }), element("td", shown(a[name])), element("td", shown(b[name])));
          return row;
        }),
      ),
    );
  }
  const list = element("dl", undefined, "keys");
  for (const [name, value] of Object.entries(rest)) list.append(element("dt", name.replaceAll("_", " ")), element("dd", shown(value)));
  parts.push(list);
  return parts;
}
