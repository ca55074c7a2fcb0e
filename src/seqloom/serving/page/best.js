// The best outputs, with what they are compared by.

import { element, heading } from "./elements.js";

function best(output) {
  const all = output.n_best?.length ? output.n_best : [output];
  const head = heading(["rank", "output"], ["log-probability", "compared by"]);
  const rows = all.map((each, number) => element("tr", {},
    element("td", { className: "number", textContent: number + 1 }),
    element("td", { dir: "auto", textContent: each.text }),
    element("td", { className: "number", textContent: each.score?.toFixed(3) ?? "–" }),
    element("td", { className: "number", textContent: each.normalised?.toFixed(3) ?? "–" })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

export default { name: "best", title: "Best outputs", fits: ({ search }) => Boolean(search), draw: async ({ whole }) => best(whole) };
