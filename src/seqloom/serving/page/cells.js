// The state and the gates of a recurrent unit at one step, a coloured square for each of its cells.

import { drawn, element } from "./elements.js";

const SIZE = 10; // pixels of a square
const MOST = 32; // squares in a row

const largest = (table) => Math.max(1e-9, ...table.flat().map(Math.abs));

const columns = (count, room) => Math.min(count, MOST, Math.max(8, 8 * Math.floor(room / SIZE / 8)));

function grid(name, table, { room, isGate, choose }) {
  const count = table[0].length;
  const across = columns(count, room);
  const [width, height] = [SIZE * across, SIZE * Math.ceil(count / across)];
  const svg = drawn("svg", { class: "grid", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const squares = table[0].map((_, cell) => drawn("rect", { x: SIZE * (cell % across) + 0.5, y: SIZE * Math.floor(cell / across) + 0.5,
    width: SIZE - 1, height: SIZE - 1, rx: 2, "data-cell": cell }));
  svg.append(...squares);
  svg.addEventListener("click", ({ target }) => { if (target.dataset.cell) choose(name, Number(target.dataset.cell)); });
  const most = isGate ? 1 : largest(table);
  const title = element("figcaption", {});
  const show = (step, chosen) => {
    const row = table[step];
    squares.forEach((square, cell) => {
      square.setAttribute("class", row[cell] < 0 ? "cell against" : "cell");
      square.setAttribute("fill-opacity", (0.05 + 0.95 * Math.min(1, Math.abs(row[cell]) / most)).toFixed(3));
      square.classList.toggle("here", chosen.table === name && chosen.cell === cell);
    });
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
    title.textContent = isGate ? `${name} gate · mean ${mean.toFixed(2)}` : `${name} · from ${Math.min(...row).toFixed(2)} to ${Math.max(...row).toFixed(2)}`;
    svg.setAttribute("aria-label", title.textContent);
  };
  return { figure: element("figure", { className: "state" }, title, svg), show };
}

// The value of one cell over all steps, as a line.
export function course(table, cell, step, room) {
  const values = table.map((row) => row[cell]);
  const most = largest([values]);
  const [width, height] = [Math.min(room, 24 * values.length), 56];
  const x = (place) => (width * (place + 0.5)) / values.length;
  const y = (value) => height / 2 - (value / most) * (height / 2 - 6);
  const svg = drawn("svg", { class: "course", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(drawn("title", {}, `The cell over ${values.length} steps`), drawn("line", { class: "rule", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    drawn("path", { d: values.map((value, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`).join("") }),
    drawn("circle", { cx: x(step), cy: y(values[step]), r: 4 }));
  return svg;
}

// Every tensor of the state and every gate; the result has a function that shows a step.
export function cells(unit, room, choose) {
  const made = [...Object.entries(unit.states).map(([name, table]) => grid(name, table, { room, isGate: false, choose })),
    ...Object.entries(unit.gates).map(([name, table]) => grid(name, table, { room, isGate: true, choose }))];
  return { element: element("div", { className: "states" }, ...made.map(({ figure }) => figure)), show: (step, chosen) => made.forEach((each) => each.show(step, chosen)) };
}
