// The chooser of searches: its kinds and their options are those that the server lists.

import { element } from "./elements.js";

const at = (id) => document.getElementById(id);
const typed = {}; // values of options, by name, as long as the page is open
let searches = [];

const own = () => searches.find(({ kind }) => kind === at("kind").value) ?? { options: [] };
const title = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");
const value = ({ name, default: usual }) => typed[name] ?? (usual === null ? "" : String(usual));

function control(option) {
  const { name, whole, least, most, help } = option;
  const input = element("input", { id: name, type: "number", value: value(option), title: help,
    min: least ?? "", max: most, step: whole ? 1 : "any", placeholder: "auto" });
  input.addEventListener("input", () => { typed[name] = input.value; });
  return element("label", {}, title(name), " ", input);
}

export function fitSearch() {
  at("search-options").replaceChildren(...own().options.map(control));
  at("outputs").hidden = own().takes_n_best === false;
}

export function beginSearches(listed) {
  searches = listed;
  at("kind").replaceChildren(...searches.map(({ kind, title: name, help }) => element("option", { value: kind, textContent: name, title: help })));
  fitSearch();
}

export function setOption(name, text) {
  typed[name] = text;
}

export const chosenOptions = () => Object.fromEntries(
  own().options.map((option) => [option.name, value(option)]).filter(([, text]) => text !== ""));

export function chosenSearch() {
  const numbers = Object.entries(chosenOptions()).map(([name, text]) => [name, Number(text)]);
  return { kind: at("kind").value, ...Object.fromEntries(numbers) };
}

export function describeSearch() {
  const named = own().options.map((option) => [title(option.name).toLowerCase(), value(option)]).filter(([, text]) => text !== "");
  return ["Search: " + (own().title ?? at("kind").value), ...named.map(([name, text]) => `${name} ${text}`)].join(" · ");
}

export const optionNames = () => [...new Set(searches.flatMap(({ options }) => options.map(({ name }) => name)))];
export const outputs = () => (own().takes_n_best === false ? 1 : Number(at("n_best").value));
