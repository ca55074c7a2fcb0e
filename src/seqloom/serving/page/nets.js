// The network of a model, unrolled over the input and the output, and as a whole: drawn by the server from its own parts.

import { element } from "./elements.js";
import { attends } from "./attention.js";
import { lookAt } from "./look.js";

function figure({ svg, text }, caption) {
  const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const words = element("details", {}, element("summary", { textContent: "As text" }), element("pre", { textContent: text }));
  return element("figure", { className: "net" }, element("figcaption", { textContent: caption }),
    element("div", { className: "scroller", tabIndex: 0, role: "group", ariaLabel: caption }, element("img", { src, alt: `${caption}: ${text}` })),
    element("a", { href: src, download: "net.svg", textContent: "Download as SVG" }), words);
}

async function draw(shown) {
  const found = await lookAt(shown, { show: "net" });
  return element("div", {}, figure(found.unrolled, "Over this input and output"), figure(found.whole, "As a whole"));
}

export default { name: "net", title: "Net", fits: attends, draw };
