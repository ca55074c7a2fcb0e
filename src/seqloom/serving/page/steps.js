// The model step by step: what it reads and writes, the state of its cells or the guesses of its layers, and what could be changed.

import { attends } from "./attention.js";
import { cells, course } from "./cells.js";
import { driven } from "./driven.js";
import { chance, chooser, element, facts, percent, rove } from "./elements.js";
import { lens } from "./lens.js";
import { lookAt } from "./look.js";
import { netBeside } from "./nets.js";
import { switchedOff, switches } from "./switches.js";
import { label, shown as named, sourceUnits } from "./written.js";

const wish = { at: null, step: 0, table: "hidden", cell: 0 }; // as long as the page is open

// What a head says at each item of its source: of a blank, at the blank; where it says one thing of all of them, at the last.
function said({ steps }, names) {
  if (steps.length > 1 && steps.length >= names.length - 1) return steps;
  const left = [...steps];
  const found = names.map((name) => (left.length && name === label(left[0].read) ? left.shift() : null));
  return left.length ? names.map((_, place) => (place === names.length - 1 ? steps[0] : null)) : found;
}

// The steps of the side that is looked at: names to show, and where each stands in the source.
function timeline(view, found, side, backward) {
  const { output, input } = view;
  if (side === "decoder") return found.steps.map((step) => ({ name: label(step.wrote || step.read), step }));
  const items = found.unit?.symbols ?? found.source;
  const units = items.length === output.source.length ? sourceUnits(output, input) : [];
  const listed = items.map((name, place) => {
    const item = backward ? items.length - 1 - place : place;
    const own = units.find((unit) => unit.items.includes(item));
    return { name: own?.label ?? label(name), unit: own, item };
  });
  if (found.verb !== "says") return listed;
  const names = [...listed].sort((one, other) => one.item - other.item).map(({ name }) => name);
  const steps = said(found, names);
  return listed.map((each) => ({ ...each, step: steps[each.item] ?? null }));
}

function strip(steps, go) {
  const made = steps.map(({ name }, place) => {
    const token = element("button", { type: "button", className: "step", dir: "auto", textContent: name });
    token.addEventListener("click", () => go(place));
    return token;
  });
  rove(made);
  const show = (step) => made.forEach((each, place) => each.setAttribute("aria-current", place === step ? "step" : "false"));
  return { element: element("div", { className: "strip-of-steps", role: "group", ariaLabel: "Steps" }, ...made), show };
}

// The likeliest tokens of a step; one that is chosen is forced, and the rest is written anew.
function distribution(step, place, view) {
  if (!step?.best?.length) return element("div");
  const rows = step.best.map((each) => {
    const bar = element("span", { className: "bar" });
    bar.style.setProperty("--p", chance(each));
    const parts = [element("b", { dir: "auto", textContent: label(each.text) }), bar, element("span", { className: "number", textContent: percent(chance(each)) })];
    if (!view.model.search || each.text === "<end>") return element("div", { className: "other" }, ...parts);
    const row = element("button", { type: "button", className: "other", title: `Write ${named(each.text)} here` }, ...parts);
    row.addEventListener("click", () => view.force(place, each));
    return row;
  });
  return element("section", { ariaLabel: "Likeliest tokens" }, facts(view.model.search ? "Likeliest here; choose one to force it:" : "Likeliest here:"), ...rows);
}

// A field in which another word is read in the place of one.
function instead(unit, view) {
  if (!unit || unit.mark || unit.start === unit.end || typeof view.input !== "string") return element("div");
  const field = element("input", { value: unit.label, dir: "auto", ariaLabel: "Read instead" });
  const form = element("form", { className: "toolbar" }, element("label", {}, "Read instead ", field),
    element("button", { className: "quiet small", textContent: "Try" }));
  form.addEventListener("submit", (event) => { event.preventDefault(); view.edit(unit, field.value); });
  return form;
}

function told(steps, place, found, side) {
  const { step, name } = steps[place];
  const where = `Step ${place + 1} of ${steps.length}`;
  if (side === "encoder" && !step) return `${where}: reads ${name}`;
  const own = side === "encoder" ? [name] : step.read ? [label(step.read)] : [];
  const read = [...own, ...(step.beside ?? [])].join(" and ") || "nothing but its state";
  const sure = step.log_probability === null ? "" : ` (${percent(Math.exp(step.log_probability))})`;
  return `${where}: reads ${read}, ${found.verb} ${label(step.wrote)}${sure}`;
}

// The panel of one cell: its course, and the inputs that drive it.
function cellPanel(view, found, at) {
  const box = element("section", { className: "cell-panel", ariaLabel: "One cell" });
  const ask = element("button", { type: "button", className: "quiet small", textContent: "What drives it most?" });
  const answer = element("div");
  ask.addEventListener("click", async () => {
    answer.replaceChildren(facts("Reading held-out rows …"));
    try { answer.replaceChildren(await driven(view, { at, table: wish.table, cell: wish.cell })); } catch (error) { answer.replaceChildren(facts(error.message)); }
  });
  const number = element("input", { type: "number", min: 0, ariaLabel: "Cell" });
  const show = (step, choose) => {
    const table = { ...found.unit.states, ...found.unit.gates }[wish.table];
    number.max = table[0].length - 1;
    number.value = wish.cell;
    number.oninput = () => choose(wish.table, Math.max(0, Math.min(table[0].length - 1, Number(number.value))));
    box.replaceChildren(element("div", { className: "toolbar" }, element("label", {}, "Cell ", number),
      element("span", { textContent: `of ${wish.table}: ${table[step][wish.cell].toFixed(3)}` }), ask), course(table, wish.cell, step, view.width), answer);
  };
  return { element: box, show, forget: () => answer.replaceChildren() };
}

function inside(view, found, side, go) {
  if (!found.unit) return found.norms[side] ? lens(found, side, go) : { element: element("div"), show: () => {} };
  const panel = cellPanel(view, found, found.unit.at);
  if (!({ ...found.unit.states, ...found.unit.gates }[wish.table]?.[0].length > wish.cell)) Object.assign(wish, { table: "hidden", cell: 0 });
  let step = 0;
  const choose = (table, cell) => { Object.assign(wish, { table, cell }); panel.forget(); show(step); };
  const grids = cells(found.unit, view.width, choose);
  const show = (place) => { step = place; grids.show(place, wish); panel.show(place, choose); };
  return { element: element("div", {}, grids.element, panel.element), show };
}

const SIDES = { encoder: "Reading the input", decoder: "Writing the output" };

function places(found) {
  if (found.units.length) return found.units.map(({ at }) => [at, at]);
  return Object.keys(SIDES).filter((side) => side === "decoder" ? found.verb === "writes" : found.norms.encoder).map((side) => [side, SIDES[side]]);
}

async function draw(view) {
  const off = switchedOff(view);
  const known = await lookAt(view, { show: "steps", off });
  const listed = places(known);
  const at = listed.some(([each]) => each === wish.at) ? wish.at : listed.find(([each]) => each.startsWith("decoder"))?.[0] ?? listed[0]?.[0];
  const found = known.units.length ? await lookAt(view, { show: "steps", at, off }) : known;
  const side = at?.startsWith("encoder") || found.verb === "says" ? "encoder" : "decoder";
  const backward = at?.endsWith("backward");
  const steps = timeline(view, found, side, backward);
  const shift = found.unit && side === "decoder" ? found.unit.symbols.length - steps.length : 0; // a source that is read first
  const slider = element("input", { type: "range", min: 0, max: steps.length - 1, ariaLabel: "Step of the model" });
  const [readout, likely, other] = [element("output", { className: "facts" }), element("div"), element("div")];
  const go = (place) => { slider.value = place; show(); };
  const [tokens, parts, net] = [strip(steps, go), inside(view, found, side, go), await netBeside(view, { off, side, backward })];
  const show = () => {
    wish.step = Number(slider.value);
    readout.textContent = told(steps, wish.step, found, side);
    tokens.show(wish.step);
    parts.show(wish.step + shift);
    net.show(wish.step);
    likely.replaceChildren(distribution(steps[wish.step].step, wish.step, view));
    other.replaceChildren(instead(steps[wish.step].unit, view));
  };
  slider.addEventListener("input", show);
  go(Math.min(wish.step, steps.length - 1));
  const choose = (value) => { Object.assign(wish, { at: value, step: 0 }); view.redraw(); };
  return element("div", { className: "steps" },
    element("div", { className: "toolbar" }, ...(listed.length > 1 ? [chooser("Part", listed, at, choose)] : []), element("label", {}, "Step ", slider), readout),
    tokens.element, other, net.element, parts.element, likely, await switches(view, found, found.unit?.at));
}

export default { name: "steps", title: "Step by step", fits: (model) => attends(model) && model.target.kind !== "number", draw };
