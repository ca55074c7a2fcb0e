// The held-out inputs that drive one cell of a recurrent unit most, with their neighbours in state space.

import { element, facts } from "./elements.js";
import { lookAt } from "./look.js";
import { label } from "./written.js";

const words = (names) => names.map(label).join(" ");

function excerpt({ before, item, after }) {
  return element("span", { dir: "auto" }, `${words(before)} `, element("b", { textContent: label(item) }), ` ${words(after)}`);
}

function list(title, items) {
  const rows = items.map((each) => element("li", {}, element("span", { className: "number", textContent: `${each.value.toFixed(2)} ` }), excerpt(each),
    element("details", {}, element("summary", { textContent: "nearest states" }),
      element("ul", {}, ...each.nearest.map((near) => element("li", {}, element("span", { className: "number", textContent: `${near.distance.toFixed(2)} ` }), excerpt(near)))))));
  return element("div", {}, element("h4", { textContent: title }), element("ul", { className: "driven" }, ...rows));
}

export async function driven(shown, wanted) {
  const found = await lookAt(shown, { show: "unit", ...wanted });
  return element("div", {}, facts(`Of ${found.items.toLocaleString("en")} items of held-out rows:`),
    element("div", { className: "columns" }, list("Highest", found.highest), list("Lowest", found.lowest)));
}
