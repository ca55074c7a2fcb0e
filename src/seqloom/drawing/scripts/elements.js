// Pieces of the page. Every text comes from a user or a model, so it is set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

export function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// One stop of the tab key for all of these, and the arrow keys between them (ARIA: roving tabindex).
export function rove(items) {
  const stop = (chosen) => items.forEach((each) => { each.setAttribute("tabindex", each === chosen ? "0" : "-1"); });
  stop(items[0]);
  items.forEach((item, place) => {
    item.addEventListener("focus", () => stop(item));
    item.addEventListener("keydown", (event) => {
      const next = { Home: items[0], End: items.at(-1) }[event.key]
        ?? (STEPS[event.key] ? items[place + STEPS[event.key]] : undefined);
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  });
}

export const chance = (token) => (token.log_probability === null ? 0 : Math.exp(token.log_probability));
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
export const measure = (() => {
  let context;
  return (text, size = 15) => {
    context ??= document.createElement("canvas").getContext("2d");
    context.font = `${size}px system-ui, sans-serif`;
    return context.measureText(text).width;
  };
})();

export const facts = (text) => element("p", { className: "facts", textContent: text });
export const without = () => facts("This model tells no attention to its input.");

export const heading = (names, numbers) => element("tr", {}, ...names.map((name) => element("th", { scope: "col", textContent: name })),
  ...numbers.map((name) => element("th", { scope: "col", className: "number", textContent: name })));

// A label with a chooser of values: pairs of a value and its name.
export function chooser(title, choices, chosen, change) {
  const select = element("select", {}, ...choices.map(([value, name]) => element("option", { value, textContent: name, selected: String(value) === String(chosen) })));
  select.addEventListener("change", () => change(select.value));
  return element("label", { className: "chooser" }, element("span", { textContent: title }), select);
}
