// The weights between an input and its output, as threads and heat maps show them: attention, or what mattered.

import { Away } from "./api.js";
import { chooser, element } from "./elements.js";
import { lookAt } from "./look.js";
import { joinWords, outputUnits, plain, pooled, sourceUnits, units } from "./written.js";

const MANY = 40; // tokens of a side, beyond which words are shown unless tokens are asked for
const WHOLE = ["word", "character", "symbol"]; // units that are what a reader would point at
const METHODS = [["attention", "Attention"], ["gradient", "Gradient × input"], ["integrated", "Integrated gradients"], ["erasure", "Erasure"]];
const KINDS = { cross: "output to input", encoder: "input to itself", decoder: "output to itself" };
const wish = { method: "attention", of: null, layer: null, head: "mean", level: null }; // as long as the page is open

const TEXTS = ["text", "turns", "columns", "label", "none"];
export const attends = ({ source, target }) => TEXTS.includes(source.kind) && target.kind !== "series";

function level(shown, rows, columns) {
  if (wish.level) return wish.level;
  const fine = [shown.model.source, shown.model.target].some(({ unit }) => unit && !WHOLE.includes(unit));
  return fine || Math.max(rows.length, columns.length) > MANY ? "words" : "tokens";
}

// What a decoder read at each step: the start, and then what it had written.
function inputUnits({ tokens, text }) {
  const before = tokens.slice(0, -1);
  const offsets = before.every((token) => token.offsets) ? [[0, 0], ...before.map((token) => token.offsets)] : [];
  return units(["<start>", ...before.map((token) => token.text)], offsets, text);
}

// The units that a list of names stands for, and the text that they lie in.
function side(shown, names, kind) {
  const { output, input, model } = shown;
  const known = { source: [() => sourceUnits(output, input), plain(input)],
    target: [() => (model.search ? outputUnits(output) : units(names, [], "")), model.search ? output.text : ""],
    inputs: [() => inputUnits(output), output.text] }[kind];
  const found = known[0]();
  const count = found.reduce((sum, { items }) => sum + items.length, 0);
  return count === names.length ? [found, known[1]] : [units(names, [], ""), ""];
}

const SIDES = { cross: ["target", "source"], encoder: ["source", "source"], decoder: ["inputs", "inputs"] };

// What is shown: attention, or of a model that has none what mattered.
const method = ({ model }) => (wish.method === "attention" && without.has(model.name) ? "gradient" : wish.method);

async function weights(shown) {
  const { output, model } = shown;
  const attention = method(shown) === "attention";
  const own = attention && !wish.of && !wish.layer && wish.head === "mean" && output.attention;
  if (own) return ownWeights(shown);
  if (attention) {
    const head = Number(wish.head) || null;
    const asked = lookAt(shown, { show: "attention", of: wish.of, layer: wish.layer, head, pool: wish.head === "max" ? "max" : "mean" });
    if (wish.of || wish.layer || head) return asked;
    return asked.catch((error) => {
      if (error instanceof Away) throw error;
      without.add(model.name);
      return weights(shown);
    });
  }
  const found = await lookAt(shown, { show: "attribution", method: method(shown) });
  const before = wish.of === "decoder" || !found.source.length;
  const [first, last] = before ? [found.source.length, undefined] : [0, found.source.length];
  return { ...found, signed: true, of: before ? "decoder" : "cross", columns: before ? found.inputs : found.source, sides: ["target", before ? "inputs" : "source"],
    weights: found.weights.map((row) => row.slice(first, last)), choices: [], tells: found.inputs.length > 0 && found.source.length > 0 };
}

// Rows and columns with their labels, by word or by token, and the weights between them.
function arranged(shown, found) {
  const [rowSide, columnSide] = found.sides ?? SIDES[found.of];
  let [[rows, rowText], [columns, columnText]] = [side(shown, found.rows, rowSide), side(shown, found.columns, columnSide)];
  const chosen = level(shown, rows, columns);
  if (chosen === "words") [rows, columns] = [rowText ? joinWords(rows, rowText) : rows, columnText ? joinWords(columns, columnText) : columns];
  const digits = (weight) => `${weight > 0 ? "+" : ""}${weight.toFixed(3)} ${found.quantity ?? ""}`;
  return { rows, columns, rowText, columnText, chosen, weights: pooled(found.weights, rows, columns), signed: Boolean(found.signed),
    ...(found.signed ? { tell: digits } : {}) };
}

const ownWeights = ({ output }) => ({ weights: output.attention, of: "cross", rows: output.tokens.map((token) => token.text), columns: output.source });

// An output's own attention to its input; null where it has none.
export const outputMap = (shown) => (shown.output.attention ? arranged(shown, ownWeights(shown)) : null);

// The weights that the visitor has chosen, with the choosers.
export async function attentionMap(shown) {
  const found = await weights(shown);
  const map = arranged(shown, found);
  return { ...map, controls: controls(shown, found, map.chosen) };
}

function controls(shown, found, chosen) {
  const set = (name, value, more = {}) => { Object.assign(wish, { [name]: value }, more); shown.redraw(); };
  const methods = METHODS.filter(([name]) => name !== "attention" || !without.has(shown.model.name));
  const made = [chooser("Show", methods, method(shown), (value) => set("method", value, { of: null, layer: null, head: "mean" }))];
  if (method(shown) === "attention") made.push(...attentionControls(shown, found, set));
  else if (found.tells) made.push(chooser("For", [["cross", "the input"], ["decoder", "the output so far"]], found.of, (value) => set("of", value)));
  made.push(chooser("By", [["words", "word"], ["tokens", "token"]], chosen, (value) => set("level", value)));
  return element("div", { className: "toolbar" }, ...made);
}

// Choosers of the kind, layer and head; they are filled once the server has told which there are.
function attentionControls(shown, found, set) {
  const choices = found.choices ?? known.get(shown.model.name);
  if (!choices) {
    lookAt(shown, { show: "attention" }).then((other) => { known.set(shown.model.name, other.choices); if (shown.isCurrent()) shown.redraw(); }, () => {});
    return [];
  }
  known.set(shown.model.name, choices);
  const { layers } = choices.find(({ of }) => of === found.of) ?? choices[0];
  const layer = found.layer ?? layers.at(-1).layer;
  const { heads } = layers.find((each) => each.layer === layer) ?? layers[0];
  const numbers = Array.from({ length: heads }, (_, number) => [number + 1, `head ${number + 1}`]);
  return [
    chooser("From", choices.map(({ of }) => [of, KINDS[of]]), found.of, (value) => set("of", value, { layer: null, head: "mean" })),
    ...(layers.length > 1 ? [chooser("Layer", layers.map((each) => [each.layer, each.layer]), layer, (value) => set("layer", Number(value)))] : []),
    ...(heads > 1 ? [chooser("Heads", [["mean", "mean"], ["max", "maximum"], ...numbers], wish.head, (value) => set("head", value))] : []),
  ];
}

const known = new Map(); // which attention each model has
const without = new Set(); // models that have none
