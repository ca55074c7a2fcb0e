// What a visitor has asked for: in the address, so that a link brings it back, and in a list of this visit.

import { smallFile } from "./inputs.js";
import { chosenOptions, optionNames, setOption } from "./searches.js";
import { element } from "./elements.js";

const at = (id) => document.getElementById(id);
const TEXTS = ["n_best", "source", "turns", "table", "choice", "steps"];
const MOST_IN_LINK = 6000; // characters
const MOST_VISITS = 50;
const visits = []; // the newest first

export function remembered({ begun, view }) {
  const known = { model: at("model").value, kind: at("kind").value, view, ...chosenOptions() };
  for (const name of TEXTS) {
    if (at(name).value && at(name).value.length <= MOST_IN_LINK) known[name] = at(name).value;
  }
  if (begun.length) known.begun = begun;
  const file = smallFile(MOST_IN_LINK);
  if (file) known.file = file;
  return known;
}

export const address = (known) => `#${encodeURIComponent(JSON.stringify(known))}`;

export function linked() {
  try {
    const known = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return known && typeof known === "object" ? known : null;
  } catch { return null; }
}

const isFile = (value) => typeof value?.name === "string" && typeof value?.base64 === "string";
const areTexts = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");

// Sets every control as it was; what the link holds beside them is given back.
export function restore(known, fitModel, fitOptions) {
  const set = (name) => { if (typeof known[name] === "string") at(name).value = known[name]; };
  set("model");
  fitModel();
  for (const name of optionNames()) if (typeof known[name] === "string") setOption(name, known[name]);
  for (const name of ["kind", ...TEXTS]) set(name);
  fitOptions();
  return { begun: areTexts(known.begun) ? known.begun : [], file: isFile(known.file) ? known.file : null, view: typeof known.view === "string" ? known.view : null };
}

// An output that was written while its input was still being typed gives way to the next.
export function keepVisit(known, input, output, { typed, open }) {
  if (!input) return;
  const [last] = visits;
  const grows = last?.typed && typed && (input.startsWith(last.input) || last.input.startsWith(input));
  const same = last && last.input === input && last.output === output;
  if (grows || same) visits.shift();
  visits.unshift({ known, input, output, typed });
  visits.splice(MOST_VISITS);
  at("history").hidden = false;
  at("visited").textContent = `This visit (${visits.length})`;
  at("visits").replaceChildren(...visits.map((visit) => {
    const row = element("button", { className: "visit", type: "button" },
      element("span", { dir: "auto", textContent: visit.input }), element("span", { dir: "auto", textContent: visit.output }));
    row.addEventListener("click", () => open(visit.known));
    return element("li", {}, row);
  }));
}
