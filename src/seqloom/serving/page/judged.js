// Outputs that are not written step by step: a label, tags, gaps filled in, a number, a forecast.

import { chance, drawn, element, percent } from "./elements.js";

const [NARROW, WIDE] = [320, 900]; // pixels of a chart
const HEIGHT = 210;
const EDGE = { left: 64, right: 12, top: 26, bottom: 24 };
const LABEL = 110; // pixels of a time
const PAST = 2; // times as many steps of the past as of the forecast, ...
const LEAST_PAST = 24; // ... and at least so many
const MOST_CHARTS = 12;

export function bars(token) {
  const others = token.alternatives?.length ? token.alternatives : [token];
  return element("div", { className: "bars" }, ...others.map((other) => {
    const bar = element("span", { className: "bar" });
    bar.style.setProperty("--p", chance(other));
    return element("div", { className: "other" }, element("b", { dir: "auto", textContent: other.text }), bar,
      element("span", { className: "number", textContent: percent(chance(other)) }));
  }));
}

export function tagged(output) {
  const words = output.source.filter((_, place) => place < output.tokens.length);
  return element("div", { className: "tagged", dir: "auto" }, ...words.map((word, place) => {
    const token = output.tokens[place];
    const others = (token.alternatives ?? []).map((other) => `${other.text} ${percent(chance(other))}`);
    const tag = element("span", { className: "tag", textContent: token.text, tabIndex: 0,
      title: others.join(" · ") || percent(chance(token)) });
    tag.style.setProperty("--p", chance(token));
    return element("span", { className: "word" }, element("span", { textContent: word }), tag);
  }));
}

// The pieces of a text, and whether each is a gap. A marker of equal characters may be drawn with two or more of them;
// after a backslash it is plain text.
export function parted(text, marker) {
  const [first, ...rest] = [...marker].map((each) => each.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&"));
  const drawn = rest.length > 0 && rest.every((each) => each === first);
  const mark = drawn ? `${first}{2,}` : [first, ...rest].join("");
  const pieces = text.split(new RegExp(`(\\\\?${mark})`, "u"));
  return pieces.map((piece, place) => {
    const plain = place % 2 === 1 && piece.startsWith("\\");
    return { text: plain ? piece.slice(1) : piece, gap: place % 2 === 1 && !plain };
  });
}

const short = (value) => Number(value.toPrecision(4)).toString();

function chart(name, { past, came }, forecast, width) {
  const mean = forecast.mean[name];
  const shares = Object.keys(forecast.quantiles).sort((one, other) => one - other);
  const edges = shares.map((share) => forecast.quantiles[share][name]);
  const all = [...past, ...mean, ...came, ...edges.flat()].filter(Number.isFinite);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const steps = past.length + mean.length;
  const x = (step) => EDGE.left + ((width - EDGE.left - EDGE.right) * step) / Math.max(1, steps - 1);
  const y = (value) => EDGE.top + (HEIGHT - EDGE.top - EDGE.bottom) * (1 - (value - low) / (high - low || 1));
  const path = (values, first) => values.map((value, place) => `${place ? "L" : "M"}${x(first + place).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", class: "chart" });
  svg.append(drawn("title", {}, `${name}: the past, then what is expected`), drawn("text", { x: EDGE.left, y: 16 }, name));
  for (const value of [low, (low + high) / 2, high]) {
    svg.append(drawn("line", { class: "rule", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
      drawn("text", { class: "faint", x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  for (let number = 0; number < Math.floor(edges.length / 2); number += 1) {
    const [below, above] = [edges[number], edges[edges.length - 1 - number]];
    const back = below.map((value, place) => `L${x(past.length + place).toFixed(1)} ${y(value).toFixed(1)}`).reverse().join("");
    svg.append(drawn("path", { class: "band", d: `${path(above, past.length)}${back}Z` }));
  }
  const joined = past.length ? [past.at(-1), ...mean] : mean;
  svg.append(drawn("path", { class: "past", d: path(past, 0) }),
    drawn("path", { class: "mean", d: path(joined, past.length - (past.length ? 1 : 0)) }));
  if (came.length) svg.append(drawn("path", { class: "came", d: path(came, past.length) }));
  const [from, last] = [x(past.length), forecast.times.length - 1];
  const tight = width - EDGE.right - from < 1.7 * LABEL;
  const below = (place, anchor, text) => svg.append(drawn("text", { class: "faint", x: place, y: HEIGHT - 6, "text-anchor": anchor }, text));
  if (tight) below(EDGE.left, "start", `${forecast.times[0]} to`);
  else below(from, "middle", forecast.times[0]);
  if (last) below(width - EDGE.right, "end", forecast.times[last]);
  return svg;
}

function table(forecast) {
  const shares = Object.keys(forecast.quantiles).sort((one, other) => one - other);
  const names = Object.keys(forecast.mean);
  const heads = names.flatMap((name) => [name, ...shares.map((share) => `${name}, ${share} below`)]);
  const head = element("tr", {}, ...[forecast.time, ...heads].map((text) => element("th", { textContent: text })));
  const rows = forecast.times.map((time, step) => element("tr", {}, element("td", { textContent: time }),
    ...names.flatMap((name) => [forecast.mean[name], ...shares.map((share) => forecast.quantiles[share][name])])
      .map((values) => element("td", { className: "number", textContent: short(values[step]) }))));
  return element("details", {}, element("summary", { textContent: "As a table" }),
    element("div", { className: "scroller", tabIndex: 0, role: "group", ariaLabel: "The forecast as a table" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
}

// What came after a window, column by column, from the reference of its row; steps are parted by semicolons.
function parse(reference, count) {
  const steps = (reference ?? "").split(";").filter((step) => step.trim()).map((step) => step.trim().split(/\s+/).map(Number));
  return Array.from({ length: count }, (_, column) => steps.map((step) => step[column]));
}

export function forecast(found, observed, room, reference = "") {
  const width = Math.max(NARROW, Math.min(WIDE, room));
  const steps = found.times.length;
  const names = Object.keys(found.mean).slice(0, MOST_CHARTS);
  const came = parse(reference, Object.keys(found.mean).length);
  const charts = names.map((name, column) => {
    const past = (observed[name] ?? []).filter(Number.isFinite).slice(-Math.max(LEAST_PAST, PAST * steps));
    return chart(name, { past, came: came[column].slice(0, steps) }, found, width);
  });
  const shares = Object.keys(found.quantiles).sort((one, other) => one - other);
  const key = shares.length > 1 ? `The band is where ${percent(shares.at(-1) - shares[0])} of outcomes are expected.` : "";
  const dashes = reference ? " The dashed line is what came." : "";
  return element("div", { className: "charts" }, ...charts, element("p", { className: "facts", textContent: key + dashes }), table(found));
}
