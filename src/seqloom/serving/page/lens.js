// What each layer of blocks would say if the output layer read it, and how long its vectors are.

import { chance, drawn, element, percent } from "./elements.js";
import { label } from "./written.js";

// A row for each layer, the last on top, and a column for each step.
function guesses(found, choose) {
  const rows = found.guesses.map((row, layer) => element("tr", {}, element("th", { scope: "row", textContent: `layer ${layer + 1}` }),
    ...row.map((guess, step) => {
      const [best] = guess.best;
      const cell = element("td", { dir: "auto", textContent: label(best.text), title: `${percent(chance(best))}, norm ${guess.norm.toFixed(2)}` });
      cell.style.setProperty("--p", chance(best));
      cell.addEventListener("click", () => choose(step));
      return cell;
    }))).reverse();
  const head = element("tr", {}, element("td"), ...found.steps.map(({ wrote }) => element("th", { scope: "col", dir: "auto", textContent: label(wrote) })));
  return element("div", { className: "scroller", tabIndex: 0, role: "group", ariaLabel: "Guesses of each layer" },
    element("table", { className: "lens" }, element("caption", { textContent: "What each layer would write through the output layer; the deeper the colour, the surer" }), head, ...rows));
}

function norms(table, title) {
  const [width, line] = [220, 20];
  const rows = [...table.keys()].reverse();
  const svg = drawn("svg", { class: "norms", width: width + 130, height: line * rows.length, role: "img" });
  svg.append(drawn("title", {}, title));
  const most = Math.max(1e-9, ...table.flat());
  const bars = rows.map((layer, place) => {
    const bar = drawn("rect", { x: 60, y: line * place + 4, height: line - 8, rx: 3 });
    const value = drawn("text", { x: 0, y: line * place + 15 });
    svg.append(drawn("text", { x: 0, y: line * place + 15 }, `layer ${layer + 1}`), bar, value);
    return { layer, bar, value };
  });
  const show = (step) => bars.forEach(({ layer, bar, value }) => {
    const size = table[layer][Math.min(step, table[layer].length - 1)];
    bar.setAttribute("width", (width * size) / most);
    value.setAttribute("x", 66 + (width * size) / most);
    value.textContent = size.toFixed(2);
  });
  return { figure: element("figure", { className: "state" }, element("figcaption", { textContent: title }), svg), show };
}

function details(found, step) {
  const rows = found.guesses.map((row, layer) => element("tr", {}, element("th", { scope: "row", textContent: `layer ${layer + 1}` }),
    element("td", { dir: "auto", textContent: row[step].best.map((each) => `${label(each.text)} ${percent(chance(each))}`).join(" · ") }),
    element("td", { className: "number", textContent: percent(Math.exp(row[step].chosen)) }))).reverse();
  const head = element("tr", {}, ...["layer", "likeliest", "what was written"].map((text) => element("th", { scope: "col", textContent: text })));
  return element("table", {}, head, ...rows);
}

// The residual stream of a side, step by step; the result has a function that shows a step.
export function lens(found, side, choose) {
  const own = norms(found.norms[side], `Norm of the residual stream, ${side}`);
  if (side === "encoder" || !found.guesses.length) return { element: own.figure, show: own.show };
  const [grid, more] = [guesses(found, choose), element("div")];
  const show = (step) => {
    own.show(step);
    more.replaceChildren(details(found, step));
    for (const row of grid.querySelectorAll("tr")) [...row.children].forEach((cell, place) => cell.classList.toggle("now", place === step + 1));
  };
  return { element: element("div", {}, grid, own.figure, more), show };
}
