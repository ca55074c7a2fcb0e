// The network of a model, unrolled over the input and the output, and as a whole; and beside its steps, with what a step computes lit.

import { element } from "./elements.js";
import { attends } from "./attention.js";
import { asFile, diagram } from "./diagram.js";
import { lookAt } from "./look.js";
import { label, sourceUnits } from "./written.js";

// Items of the source as they were typed.
function naming({ output, input }) {
  const units = sourceUnits(output, input);
  return (box) => {
    const own = box.name.startsWith("encoder.source ") && units.find((unit) => unit.items.includes(Number(box.name.split(" ")[1])));
    return own ? own.label : label(box.label);
  };
}

function figure(found, caption, name) {
  const { element: drawing, svg } = diagram(found, { caption, name });
  const words = element("details", {}, element("summary", { textContent: "As text" }), element("pre", { textContent: found.text, tabIndex: 0 }));
  const save = element("button", { type: "button", className: "quiet small", textContent: "Download as SVG" });
  save.addEventListener("click", () => {
    const href = URL.createObjectURL(asFile(svg));
    element("a", { href, download: "net.svg" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  });
  return element("figure", { className: "whole-net" }, element("figcaption", { textContent: caption }), drawing, save, words);
}

async function draw(shown) {
  const found = await lookAt(shown, { show: "net" });
  return element("div", {}, figure(found.unrolled, "Over this input and output", naming(shown)), figure(found.whole, "As a whole", naming(shown)));
}

let [open, fit] = [true, false]; // as long as the page is open

// The net beside the steps of one side. Of a long text only a part is drawn, another for each step.
export async function netBeside(shown, { off, side, backward }) {
  const asked = { show: "net", off };
  const first = await lookAt(shown, asked);
  const { reading } = first;
  const place = element("div", { className: fit ? "fit" : "" });
  const all = element("input", { type: "checkbox", checked: fit });
  all.addEventListener("change", () => { fit = all.checked; place.classList.toggle("fit", fit); });
  const box = element("details", { open, className: "beside" }, element("summary", { textContent: "The net at this step" }),
    place, element("label", { className: "check" }, all, "fit all of it into the width"));
  box.addEventListener("toggle", () => { open = box.open; });
  let [drawing, at] = [null, null];
  const put = ({ unrolled }) => {
    drawing = diagram(unrolled, { caption: "The net at this step", name: naming(shown) });
    place.replaceChildren(drawing.element);
  };
  const light = () => drawing.light((each) => !each.once && each.steps.some(([part, number]) => number === at && (part === side || (side === "encoder" && part === "head"))));
  put(first);
  const show = async (step) => {
    const own = at = side === "encoder" ? reading[backward ? reading.length - 1 - step : step] : step;
    if (first.unrolled.gaps.length) {
      const found = await lookAt(shown, { ...asked, side, step: own }).catch(() => null);
      if (!found || own !== at) return;
      put(found);
    }
    light();
  };
  return { element: box, show };
}

export default { name: "net", title: "Net", fits: attends, draw };
