// The panel with the views of an output: a tab for each that fits the model, and a chooser of sentences where it was split.

import { Away } from "./api.js";
import { chooser, element, facts } from "./elements.js";
import { letters, pieceOf, pieces, plain } from "./written.js";
import { VIEWS } from "./views.js";

const at = (id) => document.getElementById(id);
const PATIENCE = 250; // milliseconds, after which the panel says that something is computed
const GLANCE = 40; // characters of a sentence in the chooser
let name = "threads";
let shown = null; // what the views are of
let [told, chosen, looked] = [() => {}, () => {}, () => {}]; // an error; a view; a sentence

const open = (model) => VIEWS.filter((view) => view.fits(model));

export const chosenView = () => name;
export const setView = (wanted) => { name = wanted; };

function tab(view) {
  const made = element("button", { id: `tab-${view.name}`, type: "button", textContent: view.title });
  made.setAttribute("role", "tab");
  made.setAttribute("aria-controls", "view");
  made.dataset.view = view.name;
  made.addEventListener("click", () => choose(view.name));
  made.addEventListener("keydown", (event) => {
    const tabs = [...at("views").children];
    const next = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = { Home: tabs[0], End: tabs.at(-1) }[event.key] ?? (next ? tabs.at((tabs.indexOf(made) + next) % tabs.length) : null);
    if (!to) return;
    event.preventDefault();
    to.click();
    at(to.id).focus();
  });
  return made;
}

export function fitViews(model) {
  const views = open(model);
  if (!views.some((view) => view.name === name) && views.length) [{ name }] = views;
  at("views").replaceChildren(...views.map(tab));
  mark();
}

function mark() {
  for (const each of at("views").children) {
    const own = each.dataset.view === name;
    each.setAttribute("aria-selected", String(own));
    each.tabIndex = own ? 0 : -1;
    if (own) {
      at("view").setAttribute("aria-labelledby", each.id);
      at("views").scrollLeft = each.offsetLeft - at("views").offsetLeft - at("views").clientWidth / 3;
    }
  }
}

function choose(wanted) {
  name = wanted;
  mark();
  draw();
  chosen(name);
}

// Controls keep the focus when the view is drawn anew.
const controls = () => [...at("view").querySelectorAll("select, button, input")];
const place = (control) => controls().indexOf(control);

// Draws the chosen view of what is shown; one that comes late does not take the place of a later one.
export async function draw() {
  const view = shown && open(shown.model).find((each) => each.name === name);
  if (!view) return;
  const own = { ...shown, output: pieceOf(shown.whole, shown.piece), width: at("view").clientWidth, redraw: draw };
  const turn = shown.turn = {};
  own.isCurrent = () => shown?.turn === turn;
  try {
    const late = setTimeout(() => own.isCurrent() && at("view").replaceChildren(facts("Computing …")), PATIENCE);
    const drawing = await view.draw(own).finally(() => clearTimeout(late));
    if (!own.isCurrent()) return;
    const focus = at("view").contains(document.activeElement) ? place(document.activeElement) : -1;
    at("view").replaceChildren(drawing);
    controls()[focus]?.focus();
  } catch (error) {
    if (own.isCurrent()) at("view").replaceChildren(facts(error.message));
    if (error instanceof Away) told(error.message, true);
  }
}

function sentences(output, input) {
  const text = letters(plain(input));
  const listed = pieces(output).map(([start, end], number) => {
    const own = text.slice(start, end).join("").trim();
    return [number, `${number + 1}. ${own.length > GLANCE ? `${own.slice(0, GLANCE)}…` : own}`];
  });
  return chooser(`Read in ${listed.length} parts`, listed, 0, (number) => {
    shown.piece = Number(number);
    looked(output, shown.piece);
    draw();
  });
}

export function showViews(result) {
  shown = { ...result, whole: result.output, piece: 0 };
  const split = result.output.piece_ends && pieces(result.output).length > 1;
  at("pieces").hidden = !split;
  if (split) at("pieces").replaceChildren(sentences(result.output, result.input));
  looked(result.output, split ? 0 : null);
  mark(); // the tab of the view is in sight
  return draw();
}

export function beginViews(tell, choice, look) {
  [told, chosen, looked] = [tell, choice, look];
}
