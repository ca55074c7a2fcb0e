// Models and searches side by side for one input: outputs word by word, attention, time, and what each model makes of the others'.

import { Away, predict, score } from "./api.js";
import { aligned } from "./alignment.js";
import { outputMap } from "./attention.js";
import { chance, element, facts, percent } from "./elements.js";
import { heat } from "./heat.js";

const at = (id) => document.getElementById(id);
const SEARCHES = [["greedy", { kind: "greedy" }], ["beam of 5", { kind: "beam", width: 5 }],
  ["sample", { kind: "sample", temperature: 1, top_p: 0.95, seed: 1 }],
  ["minimum risk", { kind: "risk", draws: 16 }], ["exact", { kind: "exact", expansions: 1000 }]];
const COLUMN = 300; // pixels of a column, at least
let page = null; // { models, model, given, during, chart, splits }

// Models that read and give the same kinds of things as the chosen one.
export const alike = (models, model) => models.filter((each) => ["source", "target"].every((side) => each[side].kind === model?.[side].kind));

const name = ({ model, title }) => (title ? `${model.name}, ${title}` : model.name);

function candidates() {
  const model = page.model();
  const searched = model.search ? SEARCHES.map(([title, search]) => ({ model, title, search })) : [];
  return [...searched, ...alike(page.models(), model).map((each) => ({ model: each, title: "", search: null }))];
}

// The candidates with a box for each; the columns are those that are ticked.
function choices(all, ticked) {
  const boxes = all.map((each, number) => {
    const box = element("input", { type: "checkbox", checked: ticked.has(number) });
    box.addEventListener("change", () => { if (box.checked) ticked.add(number); else ticked.delete(number); run(all, ticked); });
    return element("label", { className: "check" }, box, ` ${name(each)}`);
  });
  return element("fieldset", { className: "toolbar" }, element("legend", { className: "hidden", textContent: "What to compare" }), ...boxes);
}

async function ask(each, signal) {
  const began = performance.now();
  const input = page.given();
  const body = { model: each.model.name, inputs: [input], ...(each.search ? { search: each.search } : {}),
    ...(each.model.search ? { attention: true } : {}), ...(page.splits(each.model) ? { overlong: "split" } : {}) };
  try {
    const [output] = (await predict(body, signal)).outputs;
    return { ...each, input, output, milliseconds: performance.now() - began };
  } catch (error) {
    if (error.name === "AbortError" || error instanceof Away) throw error;
    return { ...each, input, error: error.message };
  }
}

function column(found) {
  const parts = [element("h3", { textContent: name(found) })];
  if (found.error) parts.push(element("p", { textContent: found.error }));
  else {
    const { output } = found;
    const [only] = !found.model.search && output.tokens.length === 1 ? output.tokens : [];
    const told = [`${found.milliseconds.toFixed(0)} ms`];
    if (output.score !== null && output.tokens.length) told.unshift(`log-probability ${output.score.toFixed(3)}`);
    parts.push(output.forecast ? page.chart(output.forecast, COLUMN)
      : element("p", { className: "said", dir: "auto", textContent: only ? `${output.text} (${percent(chance(only))})` : output.text }),
    facts(told.join(" · ")));
    const map = found.model.search && outputMap({ output, input: found.input, model: found.model });
    if (map) parts.push(heat(map, COLUMN));
  }
  return element("article", { className: "column" }, ...parts);
}

// A row for each output, its words under those of the first; what differs is marked.
function table(all) {
  const rows = aligned(all.map(({ output }) => output.text));
  const lines = rows.map((row, number) => element("tr", {}, element("th", { scope: "row", textContent: name(all[number]) }),
    ...row.map((word, place) => element("td", { dir: "auto", className: word === rows[0][place] ? "" : "differs", textContent: word ?? "–" }))));
  const body = element("table", { className: "aligned" }, element("caption", { textContent: "Word by word; what differs from the first is marked" }), ...lines);
  return scroller(body, "Outputs word by word");
}

const scroller = (inside, label) => element("div", { className: "scroller", tabIndex: 0, role: "group", ariaLabel: label }, inside);

// What each model thinks of each output, as log-probabilities.
async function judgements(all, signal) {
  const models = [...new Map(all.map(({ model }) => [model.name, model])).values()];
  const texts = [...new Set(all.map(({ output }) => output.text))];
  if (texts.length < 2 && models.length < 2) return [];
  const rows = await Promise.all(models.map(async (model) => {
    let cells;
    try {
      const { scores } = await score({ model: model.name, pairs: texts.map((text) => [all[0].input, text]) }, signal);
      const best = Math.max(...scores.map((each) => each.score ?? -Infinity));
      cells = scores.map((each) => element("td", { className: each.score === best ? "number best" : "number", textContent: each.score?.toFixed(3) ?? "–" }));
    } catch (error) {
      if (error.name === "AbortError" || error instanceof Away) throw error;
      cells = texts.map(() => element("td", { className: "number", textContent: "–" }));
    }
    return element("tr", {}, element("th", { scope: "row", textContent: model.name }), ...cells);
  }));
  const head = element("tr", {}, element("td"), ...texts.map((text) => element("th", { scope: "col", className: "number", dir: "auto", textContent: text.trim() ? text : "(nothing)" })));
  return [scroller(element("table", { className: "judged" }, element("caption", { textContent: "The log-probability that each model gives to each output" }), head, ...rows),
    "Log-probabilities of the outputs")];
}

function run(all, ticked) {
  const chosen = all.filter((_, number) => ticked.has(number));
  return page.during(async (signal) => {
    const columns = element("div", { className: "columns" });
    const below = element("div");
    at("comparison").replaceChildren(element("h2", { textContent: "Comparison" }), choices(all, ticked), columns, below);
    at("comparison").hidden = false;
    at("comparison").dataset.state = "writing";
    const found = [];
    for (const each of chosen) {
      found.push(await ask(each, signal));
      columns.append(column(found.at(-1)));
    }
    const written = found.filter(({ output }) => output && !output.forecast);
    if (written.length > 1) below.append(table(written), ...await judgements(written, signal));
    at("comparison").dataset.state = "done";
  });
}

const ticks = (all, wanted) => new Set(all.flatMap((each, number) => (wanted(each) ? [number] : [])));

export function compareSearches() {
  const all = candidates();
  return run(all, ticks(all, ({ search }) => search));
}

export function compareModels() {
  const all = candidates();
  return run(all, ticks(all, ({ search }) => !search));
}

export function beginComparison(context) {
  page = context;
}
