// Pictures of one output. Every text comes from a user or a model, so it is set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";
const ROOM = 12;
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

export function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// One stop of the tab key for all of these, and the arrow keys between them (ARIA: roving tabindex).
export function rove(items) {
  const stop = (chosen) => items.forEach((each) => { each.setAttribute("tabindex", each === chosen ? "0" : "-1"); });
  stop(items[0]);
  items.forEach((item, place) => {
    item.addEventListener("focus", () => stop(item));
    item.addEventListener("keydown", (event) => {
      const next = { Home: items[0], End: items.at(-1) }[event.key]
        ?? (STEPS[event.key] ? items[place + STEPS[event.key]] : undefined);
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  });
}

export const chance = (token) => (token.log_probability === null ? 0 : Math.exp(token.log_probability));
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
export const shown = (name) => name.replaceAll("▁", " ").replaceAll("␣", " ");
export const label = (name) => shown(name).trim() || "␣";

const measure = (() => {
  let context;
  return (text) => {
    context ??= document.createElement("canvas").getContext("2d");
    context.font = "15px system-ui, sans-serif";
    return context.measureText(text).width;
  };
})();

function placed(names) {
  let x = ROOM;
  return names.map((name) => {
    const width = Math.max(18, measure(name));
    const middle = x + width / 2;
    x += width + ROOM;
    return { name, middle, end: x };
  });
}

function spread(places, width) {
  const extra = places.length ? (width - places.at(-1).end) / (places.length + 1) : 0;
  return places.map((place, number) => ({ ...place, middle: place.middle + extra * (number + 1) }));
}

export function threads(output, room) {
  if (!output.attention) return without();
  let above = placed(output.source.map(label));
  let below = placed(output.tokens.map((token) => label(token.text)));
  const width = Math.max(above.at(-1)?.end ?? 0, below.at(-1)?.end ?? 0, Math.min(room, 960));
  above = spread(above, width);
  below = spread(below, width);
  const svg = drawn("svg", { width, height: 220, viewBox: `0 0 ${width} 220`, role: "img" });
  svg.append(drawn("title", {}, "How each output token looked at the input"));
  const isolate = (side, number) => {
    svg.classList.toggle("isolated", number !== null);
    for (const each of svg.querySelectorAll("[data-s]")) {
      each.classList.toggle("on", number !== null && each.dataset[side] === String(number));
    }
    for (const each of svg.querySelectorAll("text")) {
      const own = each.dataset.side === side && each.dataset.number === String(number);
      const weight = side === "t" ? output.attention[number]?.[each.dataset.number]
        : output.attention[each.dataset.number]?.[number];
      each.classList.toggle("on", number !== null && (own || (each.dataset.side !== side && weight > 0.1)));
    }
  };
  output.attention.forEach((row, t) => row.forEach((weight, s) => {
    if (weight < 0.02 || !above[s] || !below[t]) return;
    const [x, y] = [above[s].middle, below[t].middle];
    svg.append(drawn("path", {
      class: "thread", d: `M${x} 38 C${x} 110 ${y} 110 ${y} 182`, "data-s": s, "data-t": t,
      "stroke-width": (0.4 + 6 * weight).toFixed(2), "stroke-opacity": (0.15 + 0.85 * weight).toFixed(3),
    }));
  }));
  const name = (place, number, side, y) => {
    const text = drawn("text", { x: place.middle, y, "text-anchor": "middle",
      "data-side": side, "data-number": number }, place.name);
    for (const begin of ["pointerenter", "focus"]) text.addEventListener(begin, () => isolate(side, number));
    for (const end of ["pointerleave", "blur"]) text.addEventListener(end, () => isolate(side, null));
    names.push(text);
  };
  const names = [];
  above.forEach((place, number) => name(place, number, "s", 28));
  below.forEach((place, number) => name(place, number, "t", 204));
  rove(names);
  svg.append(...names);
  return svg;
}

export function heat(output) {
  if (!output.attention) return without();
  const size = 26;
  const left = Math.max(60, ...output.tokens.map((token) => measure(label(token.text)))) + 2 * ROOM;
  const top = Math.max(40, ...output.source.map((name) => measure(label(name)))) + ROOM;
  const [width, height] = [left + size * output.source.length + 80, top + size * output.tokens.length + 8];
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(drawn("title", {}, "Attention: a row for each output token"));
  output.source.forEach((name, s) => {
    const x = left + s * size + size / 2 + 5;
    svg.append(drawn("text", { x, y: top - 8, transform: `rotate(-60 ${x} ${top - 8})` }, label(name)));
  });
  output.tokens.forEach((token, t) => {
    const y = top + t * size;
    svg.append(drawn("text", { x: left - 8, y: y + 18, "text-anchor": "end" }, label(token.text)));
    output.attention[t]?.forEach((weight, s) => {
      const cell = drawn("rect", { class: "cell", x: left + s * size + 1, y: y + 1, width: size - 2,
        height: size - 2, rx: 4, "fill-opacity": (0.04 + 0.96 * weight).toFixed(3) });
      cell.append(drawn("title", {}, `${label(token.text)} → ${label(output.source[s])}: ${percent(weight)}`));
      svg.append(cell);
    });
  });
  return svg;
}

export const without = () => element("p", { className: "facts", textContent: "This model tells no attention to its input." });

export const heading = (names, numbers) => element("tr", {}, ...names.map((name) => element("th", { textContent: name })),
  ...numbers.map((name) => element("th", { className: "number", textContent: name })));

export function best(output) {
  const all = output.n_best?.length ? output.n_best : [output];
  const head = heading(["rank", "output"], ["log-probability", "compared by"]);
  const rows = all.map((each, number) => element("tr", {},
    element("td", { className: "number", textContent: number + 1 }),
    element("td", { dir: "auto", textContent: each.text }),
    element("td", { className: "number", textContent: each.score?.toFixed(3) ?? "–" }),
    element("td", { className: "number", textContent: each.normalised?.toFixed(3) ?? "–" })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

export function tree(nodes) {
  if (!nodes?.length) return element("p", { className: "facts", textContent: "Only a beam leaves a tree." });
  const shownNodes = nodes.filter((node) => node.fate !== "pruned" || node.log_probability > -6);
  const kept = new Set(shownNodes.map((node) => node.number));
  const children = new Map();
  for (const node of shownNodes) {
    if (node.parent !== null && kept.has(node.parent)) {
      children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
    }
  }
  const winners = new Set();
  for (let node = nodes.find((each) => each.fate === "winner"); node; node = nodes[node.parent ?? -1]) {
    winners.add(node.number);
  }
  const ahead = (one, other) => winners.has(other.number) - winners.has(one.number) || other.total - one.total;
  const places = new Map();
  let row = 0;
  let deepest = 0;
  const place = (node, depth) => {
    const below = (children.get(node.number) ?? []).toSorted(ahead);
    deepest = Math.max(deepest, depth);
    const y = row;
    if (!below.length) row += 1;
    below.forEach((each) => place(each, depth + 1));
    places.set(node.number, { x: 10 + depth * 110, y: 20 + 24 * y });
  };
  place(shownNodes[0], 0);
  const [width, height] = [deepest * 110 + 160, row * 24 + 20];
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(drawn("title", {}, "All that the search looked at"));
  for (const node of shownNodes) {
    const at = places.get(node.number);
    if (!at) continue;
    const group = drawn("g", { class: `node ${winners.has(node.number) ? "winner" : node.fate}` });
    const from = places.get(node.parent);
    if (from) group.append(drawn("path", { d: `M${from.x + 70} ${from.y} C${at.x - 18} ${from.y} ${from.x + 88} ${at.y} ${at.x - 4} ${at.y}` }));
    const name = label(node.text);
    const text = drawn("text", { x: at.x, y: at.y + 5 }, name.length > 10 ? `${name.slice(0, 9)}…` : name);
    text.append(drawn("title", {}, `${name}: ${percent(Math.exp(node.log_probability))}, path ${node.total.toFixed(2)}`));
    group.append(text);
    svg.append(group);
  }
  return svg;
}
