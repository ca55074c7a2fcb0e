// A network as boxes and arrows, laid out by the server as `look --show net` does.

import { drawn, element, measure } from "./elements.js";

const [ACROSS, DOWN] = [90, 60]; // pixels of an inch
const TALL = 20; // pixels of a box
const LETTERS = 12; // pixels of its letters
let marker = 0; // markers have names of their own

const scaled = (path) => path.replace(/(-?[\d.e-]+) (-?[\d.e-]+)/gu, (_, x, y) => `${(x * ACROSS).toFixed(1)} ${(y * DOWN).toFixed(1)}`);
const thick = ({ weight }) => (weight === null ? 1.3 : 0.4 + 3 * weight).toFixed(2);

// The text as far as there is room for it.
function fitted(text, room) {
  if (measure(text, LETTERS) <= room) return text;
  const kept = Array.from(text);
  while (kept.length > 1 && measure(`${kept.join("")}…`, LETTERS) > room) kept.pop();
  return `${kept.join("")}…`;
}

function head(svg) {
  marker += 1;
  const id = `arrow-${marker}`;
  const made = drawn("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" });
  made.append(drawn("path", { d: "M0 1L8 4L0 7Z", fill: "context-stroke" }));
  svg.append(made);
  return `url(#${id})`;
}

function draw(svg, found, name) {
  const end = head(svg);
  const arrows = found.arrows.map((arrow) => drawn("path", { class: "arrow", "data-kind": arrow.kind, d: scaled(arrow.path), "stroke-width": thick(arrow), "marker-end": end }));
  const boxes = found.boxes.map((box) => {
    const [x, y] = [box.at[0] * ACROSS, box.at[1] * DOWN];
    const width = box.width * ACROSS;
    const group = drawn("g", { class: "box", "data-kind": box.kind, "data-name": box.name });
    group.append(drawn("rect", { x: x - width / 2, y: y - TALL / 2, width, height: TALL, rx: 6 }),
      drawn("text", { x, y: y + 4, "text-anchor": "middle" }, fitted(name(box), width - 4)));
    if (box.off) group.append(drawn("title", {}, box.off));
    group.classList.toggle("off", Boolean(box.off));
    return group;
  });
  const texts = [...found.headings.map(({ at: [x, y], label, align }) => drawn("text", { class: "faint", x: x * ACROSS, y: y * DOWN + 4, "text-anchor": align === "right" ? "end" : "start" }, label)),
    ...found.gaps.map(([x, y]) => drawn("text", { class: "faint", x: x * ACROSS, y: y * DOWN + 4, "text-anchor": "middle" }, "…"))];
  arrows.forEach((arrow, place) => arrow.classList.toggle("off", !found.arrows[place].counts));
  svg.append(...arrows, ...boxes, ...texts);
  return { arrows, boxes };
}

function legend(found) {
  const rows = Object.entries(found.legend).map(([kind, words]) => {
    const line = drawn("svg", { width: 26, height: 10, "aria-hidden": "true" });
    line.append(drawn("path", { class: "arrow lit", "data-kind": kind, d: "M0 5H26", "stroke-width": 2 }));
    return element("span", {}, line, words);
  });
  return element("p", { className: "facts legend" }, ...rows);
}

// Which arrows a step computes: those into its own boxes and, where a value is made once, those from them.
function isLit(found, { begin, end }, isNow) {
  const [tail, head_] = [found.boxes[begin], found.boxes[end]];
  return head_.once ? !tail.once && isNow(tail) : isNow(head_);
}

// The picture, and a function that lights what is computed at the steps for which `isNow` holds.
export function diagram(found, { caption, name = ({ label }) => label }) {
  const [width, height] = [found.size[0] * ACROSS, found.size[1] * DOWN];
  const svg = drawn("svg", { class: "diagram", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption });
  const { arrows, boxes } = draw(svg, found, name);
  const scroller = element("div", { className: "scroller", tabIndex: 0, role: "group", ariaLabel: caption }, svg);
  let now = [];
  new ResizeObserver(() => reveal(scroller, now)).observe(scroller); // also when it comes into the page
  const light = (isNow) => {
    svg.classList.add("stepped");
    found.arrows.forEach((arrow, place) => arrows[place].classList.toggle("lit", arrow.counts && isLit(found, arrow, isNow)));
    now = found.boxes.filter(isNow);
    reveal(scroller, now);
    found.boxes.forEach((box, place) => boxes[place].classList.toggle("now", isNow(box)));
    svg.setAttribute("aria-label", `${caption}: ${told(found, isNow, name)}`);
  };
  return { element: element("div", { className: "net" }, scroller, legend(found)), light, svg };
}

// What is lit, in words.
function told(found, isNow, name) {
  const heads = found.boxes.map((box, place) => [box, found.arrows.filter((arrow) => arrow.end === place && arrow.counts && isLit(found, arrow, isNow))]);
  return heads.filter(([, into]) => into.length).map(([box, into]) => `${name(box)} from ${into.map(({ begin }) => name(found.boxes[begin])).join(", ")}`).join("; ");
}

// Scrolls to the boxes of a step.
function reveal(scroller, boxes) {
  if (!boxes.length) return;
  const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
  scroller.scrollLeft = ACROSS * middle(boxes.map(({ at }) => at[0])) - scroller.clientWidth / 2;
  scroller.scrollTop = DOWN * middle(boxes.map(({ at }) => at[1])) - scroller.clientHeight / 2;
}

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font"];

// The picture as a file, which has its colours in it.
export function asFile(svg) {
  const copy = svg.cloneNode(true);
  const [own, theirs] = [svg, copy].map((each) => [...each.querySelectorAll("*")]);
  own.forEach((each, place) => {
    const style = getComputedStyle(each);
    theirs[place].setAttribute("style", STYLES.map((key) => `${key}:${style.getPropertyValue(key)}`).join(";"));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("style", `background:${getComputedStyle(document.documentElement).getPropertyValue("--card")}`);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}
