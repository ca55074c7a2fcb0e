// What a beam kept and dropped.

import { predict } from "./api.js";
import { drawn, facts, percent } from "./elements.js";
import { label, pieceOf } from "./written.js";

function tree(nodes) {
  if (!nodes?.length) return facts("Only a beam leaves a tree.");
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

async function grow({ asked, whole, piece }) {
  const width = Math.min(6, asked.search?.width ?? 5);
  const body = { ...asked, search: { kind: "beam", width }, n_best: 1, tree: true, alternatives: 0, attention: false };
  const [output] = (await predict(body)).outputs;
  return tree(pieceOf(output, whole.piece_ends ? piece : 0).tree);
}

export default { name: "tree", title: "Beam tree", fits: ({ search }) => Boolean(search), draw: grow };
