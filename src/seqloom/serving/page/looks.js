// Where a model looked in a picture, or listened in a recording, while it wrote each token.

import { fitted, heard, seconds } from "./inputs.js";
import { element, percent, without } from "./elements.js";
import { label } from "./written.js";

const SIDE = 240; // pixels of a panel's longer side

function looked(output, source) {
  if (!output.attention || !source.grid) return without();
  const [rows, columns] = source.grid;
  const scale = Math.max(1, Math.round(SIDE / Math.max(source.width, source.height)));
  const panels = output.tokens.map((token, t) => {
    const canvas = fitted(element("canvas"), scale);
    const context = canvas.getContext("2d");
    const weights = output.attention[t];
    const most = Math.max(...weights);
    const [width, height] = [canvas.width / columns, canvas.height / rows];
    weights.forEach((weight, cell) => {
      const share = weight / (most || 1);
      const place = [(cell % columns) * width, Math.floor(cell / columns) * height, width, height];
      context.fillStyle = `rgb(16 28 54 / ${0.6 * (1 - share)})`;
      context.fillRect(...place);
      context.fillStyle = `rgb(255 150 0 / ${0.45 * share})`;
      context.fillRect(...place);
    });
    const place = weights.indexOf(most);
    const words = `${label(token.text)}: most at row ${Math.floor(place / columns) + 1}, column ${(place % columns) + 1} of ${rows} × ${columns} (${percent(most)})`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", words);
    canvas.title = words;
    return element("figure", {}, canvas, element("figcaption", { dir: "auto", textContent: label(token.text) }));
  });
  return element("div", { className: source.width > 2 * source.height ? "looks wide" : "looks" }, ...panels);
}

function listened(output) {
  if (!output.attention) return without();
  const copy = element("canvas");
  const spectrum = heard();
  [copy.width, copy.height] = [spectrum.width, spectrum.height];
  copy.getContext("2d").drawImage(spectrum, 0, 0);
  copy.className = "spectrum";
  copy.setAttribute("role", "img");
  copy.setAttribute("aria-label", "Spectrogram");
  const lasts = seconds();
  const lines = output.tokens.flatMap((token, t) => {
    const weights = output.attention[t];
    const strip = element("canvas", { width: weights.length, height: 1 });
    const context = strip.getContext("2d");
    const [most, place] = [Math.max(...weights), weights.indexOf(Math.max(...weights))];
    const paint = getComputedStyle(document.documentElement).getPropertyValue("--heat");
    weights.forEach((weight, s) => {
      context.fillStyle = `rgb(${paint} / ${weight / (most || 1)})`;
      context.fillRect(s, 0, 1, 1);
    });
    const words = `${label(token.text)}: most at ${((lasts * (place + 0.5)) / weights.length).toFixed(2)} s (${percent(most)})`;
    strip.className = "strip";
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", words);
    strip.title = words;
    return [element("span", { dir: "auto", textContent: label(token.text) }), strip];
  });
  const axis = element("span", { className: "axis" }, element("span", { textContent: "0 s" }), element("span", { textContent: `${lasts.toFixed(1)} s` }));
  return element("div", { className: "listened" }, element("span"), copy, ...lines, element("span"), axis);
}

export const inPictures = { name: "looked", title: "Where it looked", fits: ({ search, source }) => Boolean(search) && source.kind === "picture",
  draw: async ({ output, model }) => looked(output, model.source) };
export const inSound = { name: "listened", title: "Where it listened", fits: ({ search, source }) => Boolean(search) && source.kind === "sound",
  draw: async ({ output }) => listened(output) };
