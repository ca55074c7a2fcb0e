// A heat map of weights: words of the input across, of the output down; names stay in view while it is scrolled.

import { attends, attentionMap } from "./attention.js";
import { drawn, element, measure, percent } from "./elements.js";
import { isRightToLeft } from "./written.js";

const [SMALLEST, LARGEST] = [15, 28]; // pixels of a cell
const [FONT, LONGEST] = [13, 130]; // of a name, and pixels that it may take
const HINT = "Point at a cell, or move with the arrow keys.";
const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
const ZOOM = 1.3;
let zoom = 1; // as long as the page is open

const widest = (units) => Math.min(LONGEST, Math.max(24, ...units.map(({ label }) => measure(label, FONT))) + 14);

function fitted(text) {
  let short = text;
  while (measure(short, FONT) > LONGEST - 14) short = `${short.replace(/…$/u, "").slice(0, -1)}…`;
  return short;
}

const picture = (name, width, height) => drawn("svg", { class: name, width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });

// How far the last names lean over the last columns.
const overhang = (map, size) => Math.max(0, ...map.columns.map(({ label }, place) => 0.55 * measure(fitted(label), FONT) - size * (map.columns.length - map.column(place) - 1)));

function names(map, size, left, top) {
  const across = picture("across", size * map.columns.length + overhang(map, size), top);
  map.columns.forEach(({ label }, place) => {
    const [x, steep] = [size * (map.column(place) + 0.5) + 4, size < 22 ? -75 : -55];
    across.append(drawn("text", { x, y: top - 5, transform: `rotate(${steep} ${x} ${top - 5})` }, fitted(label)));
  });
  const down = picture("down", left, size * map.rows.length);
  map.rows.forEach(({ label }, place) => down.append(drawn("text", { x: left - 6, y: size * (place + 0.5) + 4, "text-anchor": "end" }, fitted(label))));
  return [across, down];
}

function cells(map, size, most) {
  const svg = picture("cells", size * map.columns.length, size * map.rows.length);
  map.weights.forEach((row, t) => row.forEach((weight, s) => {
    svg.append(drawn("rect", { class: weight < 0 ? "cell against" : "cell", x: size * map.column(s) + 1, y: size * t + 1, width: size - 2,
      height: size - 2, rx: Math.min(4, size / 6), "data-t": t, "data-s": s, "fill-opacity": (0.05 + 0.95 * Math.abs(weight) / most).toFixed(3) }));
  }));
  return svg;
}

// Tells what lies under the pointer or the cursor of the keyboard.
function point(box, svg, map, readout) {
  let [t, s] = [0, -1];
  const tell = () => {
    svg.querySelector(".here")?.classList.remove("here");
    const cell = svg.querySelector(`[data-t="${t}"][data-s="${s}"]`);
    cell?.classList.add("here");
    readout.textContent = cell ? `${map.rows[t].label} → ${map.columns[s].label}: ${map.tell(map.weights[t][s])}` : HINT;
    return cell;
  };
  svg.addEventListener("pointermove", ({ target }) => { if (target.dataset.t) { [t, s] = [Number(target.dataset.t), Number(target.dataset.s)]; tell(); } });
  box.addEventListener("keydown", (event) => {
    const [down, right] = MOVES[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    t = Math.min(map.rows.length - 1, Math.max(0, t + (s < 0 ? 0 : down)));
    s = Math.min(map.columns.length - 1, Math.max(0, s + (s < 0 ? 1 : map.column(1) > map.column(0) ? right : -right)));
    tell()?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

export function heat(given, room) {
  const last = given.columns.length - 1;
  const map = { tell: percent, ...given, column: isRightToLeft(given.columnText) ? (s) => last - s : (s) => s };
  const [left, top] = [widest(map.rows), widest(map.columns)];
  const size = Math.round(zoom * Math.min(LARGEST, Math.max(SMALLEST, Math.floor((room - left - 30) / map.columns.length))));
  const most = map.signed ? Math.max(...map.weights.flat().map(Math.abs)) || 1 : 1;
  const readout = element("p", { className: "facts", textContent: HINT });
  readout.setAttribute("role", "status");
  const svg = cells(map, size, most);
  const box = element("div", { className: "heat", tabIndex: 0, role: "group",
    ariaLabel: `Heat map of ${map.rows.length} by ${map.columns.length}, a row for each word of the output` },
  element("span", { className: "corner" }), ...names(map, size, left, top), svg);
  point(box, svg, map, readout);
  return element("div", {}, box, readout);
}

function zoomed(shown) {
  const button = (text, name, factor) => {
    const made = element("button", { type: "button", className: "quiet small", textContent: text, ariaLabel: name });
    made.addEventListener("click", () => { zoom = Math.min(3, Math.max(0.4, zoom * factor)); shown.redraw(); });
    return made;
  };
  return element("span", { className: "toolbar" }, button("−", "Smaller cells", 1 / ZOOM), button("+", "Larger cells", ZOOM));
}

export default { name: "heat", title: "Heat map", fits: attends,
  draw: async (shown) => {
    const map = await attentionMap(shown);
    map.controls.append(zoomed(shown));
    return element("div", {}, map.controls, heat(map, shown.width));
  } };
