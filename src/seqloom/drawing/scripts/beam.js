// The tree of a beam: a row for each step, a lane for each path that was kept; what was dropped is folded under its parent.

import { drawn, element, measure, percent, rove } from "./elements.js";
import { label } from "./written.js";

const ROW = 46; // pixels from step to step
const LINE = 18; // of a dropped branch that is unfolded
const [NARROWEST, WIDEST] = [58, 150]; // of a lane
const FONT = 14;
const SIGNS = { winner: "★ ", finished: "■ " };

const fit = (text, width, size = FONT) => {
  let short = text;
  while (short.length > 2 && measure(short, size) > width) short = `${short.replace(/…$/u, "").slice(0, -1)}…`;
  return short;
};

// The nodes with their steps, lanes and children; the way to the winner has the first lane, a first child that of its parent.
export function grow(branches) {
  const nodes = new Map(branches.map((each) => [each.number, { ...each, kept: [], dropped: [], step: 0, lane: 0, best: false }]));
  for (const node of nodes.values()) {
    const parent = nodes.get(node.parent);
    if (!parent) continue;
    node.step = parent.step + 1;
    (node.fate === "pruned" ? parent.dropped : parent.kept).push(node);
  }
  for (let node = [...nodes.values()].find(({ fate }) => fate === "winner"); node; node = nodes.get(node.parent)) node.best = true;
  const kept = [...nodes.values()].filter(({ fate }) => fate !== "pruned");
  const rows = [];
  for (const node of kept) (rows[node.step] ??= []).push(node);
  for (const row of rows.slice(1)) {
    const taken = new Set();
    const free = (from) => { let lane = from; while (taken.has(lane)) lane += 1; return lane; };
    row.sort((one, other) => other.best - one.best || nodes.get(one.parent).lane - nodes.get(other.parent).lane || other.total - one.total);
    const wished = (node) => nodes.get(node.parent).lane;
    for (const node of row) {
      const first = !taken.has(wished(node)) && row.find((each) => each.parent === node.parent) === node;
      node.lane = first ? wished(node) : -1;
      if (first) taken.add(node.lane);
    }
    for (const node of row) if (node.lane < 0) { node.lane = free(0); taken.add(node.lane); }
  }
  for (const node of nodes.values()) node.dropped.sort((one, other) => other.total - one.total);
  return { nodes, rows, lanes: 1 + Math.max(...kept.map(({ lane }) => lane)) };
}

function edge(node, parent, at) {
  const [from, to] = [at(parent), at(node)];
  const group = drawn("g", {});
  group.append(drawn("path", { d: `M${from.x} ${from.y + 7} C${from.x} ${to.y - 22} ${to.x} ${to.y - 30} ${to.x} ${to.y - 12}` }),
    drawn("text", { class: "chance", x: to.x, y: to.y - 13, "text-anchor": "middle" }, percent(Math.exp(node.log_probability))));
  return group;
}

function name(node, width, { x, y }) {
  const words = `${SIGNS[node.fate] ?? ""}${label(node.text)}`;
  const text = drawn("text", { x, y: y + 4, "text-anchor": "middle" }, fit(words, width - 6));
  text.append(drawn("title", {}, `${label(node.text)}: ${percent(Math.exp(node.log_probability))}, path ${node.total.toFixed(2)}`));
  return text;
}

// The button that unfolds what was dropped after a node.
function fold(node, open, { x, y }, toggle) {
  const shown = open.has(node.number);
  const made = drawn("g", { class: "fold", role: "button", "aria-expanded": String(shown), "data-number": node.number,
    "aria-label": `${node.dropped.length} dropped after ${label(node.text)}` });
  made.append(drawn("rect", { x: x + 3, y: y + 8, width: 26, height: 17, rx: 5 }),
    drawn("text", { x: x + 16, y: y + 20, "text-anchor": "middle" }, `${shown ? "−" : "+"}${node.dropped.length}`));
  made.addEventListener("click", () => toggle(node.number));
  made.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(node.number); }
  });
  return made;
}

function dropped(node, width, { x, y }) {
  return node.dropped.map((each, place) => {
    const words = `${label(each.text)} ${percent(Math.exp(each.log_probability))}`;
    const text = drawn("text", { class: "dropped", x: x + 4, y: y + 40 + LINE * place }, fit(words, width - 8, 12));
    text.append(drawn("title", {}, `dropped: ${words}, path ${each.total.toFixed(2)}`));
    return text;
  });
}

function picture(tree, { room, step, open, toggle }) {
  const width = Math.min(WIDEST, Math.max(NARROWEST, Math.floor(room / tree.lanes)));
  const shown = tree.rows.slice(0, step + 1);
  const tops = [24];
  for (const row of tree.rows) {
    const most = Math.max(0, ...row.map((node) => (open.has(node.number) ? node.dropped.length : 0)));
    tops.push(tops.at(-1) + ROW + (most ? LINE * most + 14 : 0));
  }
  const at = (node) => ({ x: width * (node.lane + 0.5), y: tops[node.step] });
  const [across, down] = [width * tree.lanes, tops[shown.length] - 10];
  const svg = drawn("svg", { class: "beam", width: across, height: down, viewBox: `0 0 ${across} ${down}`, role: "group" });
  svg.append(drawn("title", {}, "The paths that the search kept, step by step"));
  const folds = [];
  for (const node of shown.flat()) {
    const group = drawn("g", { class: `node ${node.best ? "best" : ""} ${node.kept.length || node.fate !== "kept" ? "" : "ended"}` });
    const parent = tree.nodes.get(node.parent);
    if (parent) group.append(edge(node, parent, at));
    group.append(name(node, width, at(node)));
    if (node.dropped.length && node.step < step) folds.push(fold(node, open, at(node), toggle));
    if (open.has(node.number) && node.step < step) group.append(...dropped(node, width, at(node)));
    svg.append(group);
  }
  if (folds.length) rove(folds);
  svg.append(...folds);
  return svg;
}

function told(tree, step) {
  const row = tree.rows[step];
  const lost = (tree.rows[step - 1] ?? []).reduce((sum, node) => sum + node.dropped.length, 0);
  return step ? `Step ${step} of ${tree.rows.length - 1}: ${row.length} kept, ${lost} dropped.` : "The start.";
}

// The tree with a slider that replays the search; `room` tells how wide it may be.
export function beam(branches, room) {
  const tree = grow(branches);
  const last = tree.rows.length - 1;
  const open = new Set();
  const slider = element("input", { type: "range", min: 0, max: last, value: last, ariaLabel: "Step of the search" });
  const readout = element("output", { className: "facts" });
  const box = element("div", { className: "scroller" });
  const draw = () => {
    const step = Number(slider.value);
    readout.textContent = told(tree, step);
    box.replaceChildren(picture(tree, { room: room(), step, open, toggle }));
  };
  const toggle = (number) => {
    if (!open.delete(number)) open.add(number);
    draw();
    box.querySelector(`[data-number="${number}"]`)?.focus();
  };
  slider.addEventListener("input", draw);
  draw();
  return element("div", { className: "tree" }, element("p", { className: "toolbar" }, element("label", {}, "Step ", slider), readout), box,
    element("p", { className: "facts", textContent: "★ the winner · ■ ended · +n: dropped here; choose it to see them. A number on an edge is the probability of the token after those before it." }));
}
