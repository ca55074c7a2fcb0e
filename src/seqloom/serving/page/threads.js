// Threads between an input and its output, as wide as the weights: side by side lines where they fit, else two columns.

import { attends, attentionMap } from "./attention.js";
import { drawn, element, measure, rove } from "./elements.js";
import { isRightToLeft } from "./written.js";

const ROOM = 12; // pixels between words
const [HEIGHT, TOP, BOTTOM] = [220, 38, 182]; // of two lines
const LINE = 24; // pixels of a row of two columns
const [SIZE, NARROWEST] = [15, 90];
const LEAST = 0.02; // of a weight that has a thread
const LONGEST = 22; // characters of a label

const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

const lineWidth = (units) => units.reduce((sum, { label }) => sum + Math.max(18, measure(short(label))) + ROOM, ROOM);

// The middle of each word of a line that is spread over a width, from the right where the text is.
function spread(units, width, backward) {
  let x = ROOM;
  const extra = (width - lineWidth(units)) / (units.length + 1);
  return units.map(({ label }) => {
    const own = Math.max(18, measure(short(label)));
    const middle = x + extra + own / 2;
    x += own + ROOM + extra;
    return backward ? width - middle : middle;
  });
}

function inLines(map, width) {
  const above = spread(map.columns, width, isRightToLeft(map.columnText));
  const below = spread(map.rows, width, isRightToLeft(map.rowText));
  return { width, height: HEIGHT,
    source: (s) => ({ x: above[s], y: TOP - 10, anchor: "middle" }), target: (t) => ({ x: below[t], y: BOTTOM + 22, anchor: "middle" }),
    thread: (s, t) => `M${above[s]} ${TOP} C${above[s]} 110 ${below[t]} 110 ${below[t]} ${BOTTOM}` };
}

function inColumns(map, room) {
  const widest = (units) => Math.max(...units.map(({ label }) => measure(short(label))));
  const count = Math.max(map.rows.length, map.columns.length);
  const side = Math.min(widest(map.columns), (room - NARROWEST) / 2);
  const other = Math.min(widest(map.rows), (room - NARROWEST) / 2);
  const width = Math.min(room, side + other + 360);
  const [left, right] = [side + 8, width - other - 8];
  const y = (place, units) => LINE * ((place + 0.5) * (count / units.length));
  return { width, height: LINE * count,
    source: (s) => ({ x: left - 4, y: y(s, map.columns) + 5, anchor: "end" }), target: (t) => ({ x: right + 4, y: y(t, map.rows) + 5, anchor: "start" }),
    thread: (s, t) => `M${left} ${y(s, map.columns)} C${(left + right) / 2} ${y(s, map.columns)} ${(left + right) / 2} ${y(t, map.rows)} ${right} ${y(t, map.rows)}` };
}

// Shows the threads of one word alone, or all again.
function isolate(svg, map, side, number) {
  svg.classList.toggle("isolated", number !== null);
  for (const each of svg.querySelectorAll("[data-s]")) each.classList.toggle("on", number !== null && each.dataset[side] === String(number));
  for (const each of svg.querySelectorAll("text")) {
    const own = each.dataset.side === side && each.dataset.number === String(number);
    const weight = side === "t" ? map.weights[number]?.[each.dataset.number] : map.weights[each.dataset.number]?.[number];
    each.classList.toggle("on", number !== null && (own || (each.dataset.side !== side && Math.abs(weight) > 0.1 * map.most)));
  }
}

export function threads(map, room) {
  const wide = Math.max(lineWidth(map.columns), lineWidth(map.rows));
  const layout = wide <= room ? inLines(map, Math.max(wide, Math.min(room, 960))) : inColumns(map, room);
  const most = map.signed ? Math.max(...map.weights.flat().map(Math.abs)) || 1 : 1;
  const svg = drawn("svg", { width: layout.width, height: layout.height, viewBox: `0 0 ${layout.width} ${layout.height}`, role: "group" });
  svg.append(drawn("title", {}, "How each word of the output looked at the input"));
  map.weights.forEach((row, t) => row.forEach((weight, s) => {
    const share = Math.abs(weight) / most;
    if (share < LEAST) return;
    svg.append(drawn("path", { class: weight < 0 ? "thread against" : "thread", d: layout.thread(s, t), "data-s": s, "data-t": t,
      "stroke-width": (0.4 + 6 * Math.min(1, share)).toFixed(2), "stroke-opacity": (0.15 + 0.85 * Math.min(1, share)).toFixed(3) }));
  }));
  const names = [];
  const name = (unit, number, side, { x, y, anchor }) => {
    const text = drawn("text", { x, y, "text-anchor": anchor, "data-side": side, "data-number": number, role: "img",
      "aria-label": `${side === "s" ? "input" : "output"}: ${unit.label}` }, short(unit.label));
    for (const begin of ["pointerenter", "focus"]) text.addEventListener(begin, () => isolate(svg, { ...map, most }, side, number));
    for (const end of ["pointerleave", "blur"]) text.addEventListener(end, () => isolate(svg, { ...map, most }, side, null));
    names.push(text);
  };
  map.columns.forEach((unit, number) => name(unit, number, "s", layout.source(number)));
  map.rows.forEach((unit, number) => name(unit, number, "t", layout.target(number)));
  rove(names);
  svg.append(...names);
  return svg;
}

export default { name: "threads", title: "Threads", fits: attends,
  draw: async (shown) => {
    const map = await attentionMap(shown);
    return element("div", {}, map.controls, threads(map, shown.width));
  } };
