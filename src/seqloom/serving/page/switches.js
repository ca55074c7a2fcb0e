// Heads and gates that are switched off, and what the model writes without them.

import { chooser, element, facts } from "./elements.js";
import { pairs, wordsOf } from "./alignment.js";
import { lookAt } from "./look.js";

const off = []; // as long as the page is open and the model is the same
let model = "";
const wish = { of: "cross", layer: 1, head: 1 };

const name = (each) => (each.gate ? `${each.gate} gate, ${each.at}` : `head ${each.head}, layer ${each.layer}, ${each.of}`);

// What is switched off in the model on the screen.
export function switchedOff(shown) {
  if (model !== shown.model.name) { off.length = 0; model = shown.model.name; }
  return off.length ? off : null;
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function toggle(part, shown) {
  const place = off.findIndex((each) => same(each, part));
  if (place < 0) off.push(part); else off.splice(place, 1);
  shown.redraw();
}

function button(part, shown, text) {
  const made = element("button", { type: "button", className: "quiet small", textContent: text });
  made.setAttribute("aria-pressed", String(off.some((each) => same(each, part))));
  made.addEventListener("click", () => toggle(part, shown));
  return made;
}

const gates = (unit, found, shown) => Object.keys(found.unit.gates).map((gate) => button({ at: unit, gate }, shown, `${gate} gate`));

function heads(choices, shown) {
  const redraw = (change) => { Object.assign(wish, change); shown.redraw(); };
  const { layers, of } = choices.find((each) => each.of === wish.of) ?? choices[0];
  const { layer, heads: count } = layers.find((each) => each.layer === wish.layer) ?? layers.at(-1);
  return [
    chooser("Of", choices.map((each) => [each.of, each.of]), of, (value) => redraw({ of: value })),
    chooser("Layer", layers.map((each) => [each.layer, each.layer]), layer, (value) => redraw({ layer: Number(value) })),
    ...Array.from({ length: count }, (_, number) => button({ of, layer, head: number + 1 }, shown, `head ${number + 1}`)),
  ];
}

// The words that the model writes now; those that it did not write before are marked.
function follows(before, after) {
  const words = pairs(wordsOf(before), wordsOf(after)).filter(([, word]) => word !== null);
  return element("p", { className: "said follows", dir: "auto" },
    ...words.flatMap(([was, word]) => [element("span", { className: was === word ? "" : "differs", textContent: word }), " "]));
}

export async function switches(shown, found, at) {
  const choices = found.units.length || !shown.model.search ? [] : (await lookAt(shown, { show: "attention" }).catch(() => ({ choices: [] }))).choices;
  const parts = at && found.unit ? gates(at, found, shown) : choices.length ? heads(choices, shown) : [];
  const made = [element("div", { className: "toolbar" }, element("span", { textContent: "Switch off:" }), ...parts)];
  if (!parts.length && !off.length) return element("div");
  if (off.length) {
    const listed = off.map((part) => button(part, shown, `${name(part)} ×`));
    made.push(element("div", { className: "toolbar" }, element("span", { textContent: "Off:" }), ...listed));
    if (found.follows) made.push(facts("Without them the model writes:"), follows(shown.output.text, found.follows.text));
  }
  return element("section", { className: "switches", ariaLabel: "Parts that are switched off" }, ...made);
}
