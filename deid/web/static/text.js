// The text of a note: offsets are code points, as the project counts them; the browser counts UTF-16 units.
// A note is cut into blocks of some lines, and only those near the viewport hold their text.

const SMALL = 1500; // UTF-16 units after which a block ends with its line
const LARGE = 4000; // and after which it ends inside of a line
const WORD = /[\p{L}\p{N}\p{M}_]+(?:['’.-][\p{L}\p{N}\p{M}_]+)*|[^\s\p{L}\p{N}\p{M}_]+/gu;

function cut(text) {
  const blocks = [];
  let begin = 0, points = 0, from = 0, lastSpace = -1;
  const end = (at) => {
    blocks.push({ u0: begin, u1: at, c0: from, c1: points, el: null, filled: false });
    begin = at;
    from = points;
    lastSpace = -1;
  };
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code < 0xdc00 && i + 1 < text.length) {
      const low = text.charCodeAt(i + 1);
      if (low >= 0xdc00 && low < 0xe000) i++;
    }
    points++;
    const size = i + 1 - begin;
    if (code === 10 && size >= SMALL) end(i + 1);
    else if (size >= LARGE && (code === 32 || size >= 2 * LARGE) && !/^[\p{M}\u200d]/u.test(text.slice(i + 1, i + 3))) end(i + 1);
  }
  if (begin < text.length || !blocks.length) end(text.length);
  return blocks;
}

// index of the last block that begins at or before a place
function search(blocks, key, place) {
  let low = 0, high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle][key] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

export class TextView {
  constructor(root, colour) {
    this.root = root;
    this.colour = colour; // category -> number of a colour
    this.text = "";
    this.blocks = [];
    this.marks = new Map();
    this.sorted = [];
    this.chosen = null;
    this.observer = new IntersectionObserver((seen) => this.#seen(seen), { root, rootMargin: "800px 0px" });
  }

  load(text, marks) {
    this.observer.disconnect();
    this.text = text;
    this.chosen = null;
    this.marks = new Map(marks.map((mark) => [mark.id, mark]));
    this.#sort();
    this.blocks = cut(text);
    const style = getComputedStyle(this.root);
    const line = parseFloat(style.lineHeight) || 24;
    const columns = Math.max(20, this.root.clientWidth / (parseFloat(style.fontSize) * 0.6));
    const all = document.createDocumentFragment();
    this.blocks.forEach((block, index) => {
      const el = document.createElement("div");
      el.className = "block";
      el.dataset.block = index;
      const size = block.u1 - block.u0;
      let lines = size / columns;
      if (this.blocks.length > 1) {
        for (let at = text.indexOf("\n", block.u0); at >= 0 && at < block.u1; at = text.indexOf("\n", at + 1)) lines += 0.6;
      }
      el.style.height = `${Math.ceil(lines) * line}px`;
      block.el = el;
      all.append(el);
    });
    this.root.replaceChildren(all);
    this.root.scrollTop = 0;
    for (const block of this.blocks.slice(0, 3)) this.#fill(block);
    for (const block of this.blocks) this.observer.observe(block.el);
  }

  // take over what changed, and draw again where it did
  change(changed, gone) {
    const places = [];
    const note = (mark) => mark && places.push([mark.start, mark.end]);
    for (const id of gone) {
      note(this.marks.get(id));
      this.marks.delete(id);
    }
    for (const mark of changed) {
      note(this.marks.get(mark.id));
      note(mark);
      this.marks.set(mark.id, mark);
    }
    this.#sort();
    if (this.chosen !== null && !this.marks.has(this.chosen)) this.chosen = null;
    const drawn = new Set();
    for (const [start, end] of places) {
      for (let index = search(this.blocks, "c0", start); index < this.blocks.length && this.blocks[index].c0 < end; index++) {
        if (this.blocks[index].filled) drawn.add(index);
      }
    }
    for (const index of drawn) this.#fill(this.blocks[index]);
  }

  replace(marks) {
    const now = new Set(marks.map((mark) => mark.id));
    this.change(marks, [...this.marks.keys()].filter((id) => !now.has(id)));
  }

  #sort() {
    this.sorted = [...this.marks.values()].filter((mark) => mark.state !== "rejected").sort((a, b) => a.start - b.start || a.end - b.end);
  }

  #seen(entries) {
    for (const entry of entries) {
      const block = this.blocks[Number(entry.target.dataset.block)];
      if (!block || block.el !== entry.target) continue;
      if (entry.isIntersecting) {
        if (!block.filled) this.#fill(block);
      } else if (block.filled && !this.#held(block)) {
        block.el.style.height = `${entry.boundingClientRect.height}px`;
        block.el.replaceChildren();
        block.filled = false;
      }
    }
  }

  // a block with the focus or an end of the selection keeps its text
  #held(block) {
    const selection = document.getSelection();
    return [document.activeElement, selection.anchorNode, selection.focusNode].some((node) => node && block.el.contains(node));
  }

  #fill(block) {
    const held = this.root.contains(document.activeElement) && block.el.contains(document.activeElement);
    const parts = [];
    let at = block.u0, point = block.c0;
    const put = (to) => {
      if (to > at) parts.push(document.createTextNode(this.text.slice(at, to)));
      at = to;
    };
    let index = this.#firstMark(block.c0);
    for (; index < this.sorted.length && this.sorted[index].start < block.c1; index++) {
      const mark = this.sorted[index];
      const start = Math.max(mark.start, point), end = Math.min(mark.end, block.c1);
      if (end <= start) continue;
      put(this.#unit(block, start));
      const to = this.#unit(block, end);
      parts.push(this.#draw(mark, this.text.slice(at, to), end === mark.end));
      at = to;
      point = end;
    }
    put(block.u1);
    block.el.replaceChildren(...parts);
    block.el.style.height = "";
    block.filled = true;
    if (held && this.chosen !== null) this.element(this.chosen)?.focus({ preventScroll: true });
    else if (held) this.root.focus({ preventScroll: true });
  }

  #draw(mark, shown, last) {
    const el = document.createElement("span");
    el.className = `mark ${mark.state} c${this.colour(mark.category)}`;
    if (last) el.dataset.label = mark.category;
    if (mark.note) el.classList.add("noted");
    el.dataset.id = mark.id;
    el.tabIndex = -1;
    el.setAttribute("role", "button");
    el.setAttribute("aria-pressed", String(mark.id === this.chosen));
    const sure = mark.state === "suggested" && mark.probability !== null ? `, ${Math.round(100 * mark.probability)} percent` : "";
    el.setAttribute("aria-label", `${shown.slice(0, 200)}, ${mark.category}, ${mark.state}${sure}`);
    el.textContent = shown;
    return el;
  }

  // index of the first mark that ends behind a code point
  #firstMark(point) {
    let low = 0, high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sorted[middle].start < point) low = middle + 1;
      else high = middle;
    }
    while (low > 0 && this.sorted[low - 1].end > point) low--;
    return low;
  }

  // UTF-16 unit of a code point inside of a block
  #unit(block, point) {
    if (block.u1 - block.u0 === block.c1 - block.c0) return block.u0 + point - block.c0;
    let unit = block.u0;
    for (let left = point - block.c0; left > 0; left--) unit += this.text.codePointAt(unit) > 0xffff ? 2 : 1;
    return unit;
  }

  unit(point) {
    return this.#unit(this.blocks[search(this.blocks, "c0", point)], point);
  }

  point(unit) {
    const block = this.blocks[search(this.blocks, "u0", unit)];
    if (block.u1 - block.u0 === block.c1 - block.c0) return block.c0 + unit - block.u0;
    let point = block.c0;
    for (let at = block.u0; at < unit; point++) at += this.text.codePointAt(at) > 0xffff ? 2 : 1;
    return point;
  }

  quote(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }

  // what is selected, in UTF-16 units and without white space at its ends; null for nothing
  selected() {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!this.root.contains(range.startContainer) || !this.root.contains(range.endContainer)) return null;
    let start = this.#place(range.startContainer, range.startOffset), end = this.#place(range.endContainer, range.endOffset);
    while (start < end && /\s/.test(this.text[start])) start++;
    while (end > start && /\s/.test(this.text[end - 1])) end--;
    return end > start ? { start, end } : null;
  }

  #place(node, offset) {
    if (node === this.root) return offset < this.blocks.length ? this.blocks[offset].u0 : this.text.length;
    const el = (node.nodeType === Node.TEXT_NODE ? node.parentNode : node).closest(".block");
    const block = this.blocks[Number(el.dataset.block)];
    const before = document.createRange();
    before.setStart(el, 0);
    before.setEnd(node, offset);
    return block.u0 + before.toString().length;
  }

  // select a stretch of UTF-16 units, and bring it into view
  select(start, end) {
    const from = this.#node(start, false), to = this.#node(end, true);
    const selection = document.getSelection();
    selection.setBaseAndExtent(from.node, from.offset, to.node, to.offset);
    this.#show(selection.getRangeAt(0).getBoundingClientRect());
  }

  #node(unit, ending) {
    let index = search(this.blocks, "u0", unit);
    if (ending && index > 0 && this.blocks[index].u0 === unit) index--;
    const block = this.blocks[index];
    if (!block.filled) this.#fill(block);
    const walker = document.createTreeWalker(block.el, NodeFilter.SHOW_TEXT);
    let left = unit - block.u0, node = walker.nextNode();
    for (; node && left > node.length; node = walker.nextNode()) left -= node.length;
    return node ? { node, offset: left } : { node: block.el, offset: 0 };
  }

  #show(box) {
    const frame = this.root.getBoundingClientRect();
    if (box.top < frame.top + 8 || box.bottom > frame.bottom - 8) {
      this.root.scrollTop += box.top - frame.top - frame.height / 2;
    }
  }

  element(id) {
    return this.root.querySelector(`[data-id="${id}"]`);
  }

  choose(id, focus = true) {
    const before = this.chosen;
    this.chosen = id;
    for (const el of before === null ? [] : this.root.querySelectorAll(`[data-id="${before}"]`)) el.setAttribute("aria-pressed", "false");
    if (id === null) return;
    document.getSelection().removeAllRanges();
    const mark = this.marks.get(id);
    const block = this.blocks[search(this.blocks, "c0", mark.start)];
    if (!block.filled) {
      this.#fill(block);
      block.el.scrollIntoView({ block: "nearest" });
    }
    for (const el of this.root.querySelectorAll(`[data-id="${id}"]`)) el.setAttribute("aria-pressed", "true");
    const el = this.element(id);
    if (!el) return;
    this.#show(el.getBoundingClientRect());
    if (focus) el.focus({ preventScroll: true });
  }

  // the next mark in a direction of which something holds, from the chosen one or the selection on; null for none
  nextMark(step, holds) {
    const chosen = this.marks.get(this.chosen);
    const place = chosen ? chosen.start : this.here();
    const found = this.sorted.filter((mark) => holds(mark) && mark.id !== this.chosen && (step > 0 ? mark.start >= place : mark.start < place));
    return (step > 0 ? found[0] : found.at(-1)) ?? null;
  }

  // code point where the selection is, else of the first block in view
  here() {
    const selected = this.selected();
    if (selected) return this.point(selected.start);
    const frame = this.root.getBoundingClientRect();
    if (this.root.scrollTop < 4) return 0;
    const block = this.blocks.find((one) => one.filled && one.el.getBoundingClientRect().bottom > frame.top);
    return block ? block.c0 : 0;
  }

  // the word that begins at or behind a UTF-16 unit, or the last one that ends at or before it
  wordBehind(unit) {
    WORD.lastIndex = unit;
    const found = WORD.exec(this.text);
    return found && { start: found.index, end: found.index + found[0].length };
  }

  wordBefore(unit) {
    for (let size = 200; ; size *= 10) {
      let from = Math.max(0, unit - size);
      while (from > 0 && !/\s/.test(this.text[from])) from--;
      let last = null;
      WORD.lastIndex = 0;
      for (const found of this.text.slice(from, unit).matchAll(WORD)) last = { start: from + found.index, end: from + found.index + found[0].length };
      if (last || from === 0) return last;
    }
  }
}
