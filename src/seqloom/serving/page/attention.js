// The weights between an input and its output, as threads and heat maps show them.

import { joinWords, outputUnits, plain, pooled, sourceUnits } from "./written.js";

const MANY = 40; // tokens of a side, beyond which words are shown unless tokens are asked for
const WHOLE = ["word", "character", "symbol"]; // units that are what a reader would point at
const wish = { level: null }; // as long as the page is open

export const attends = ({ search, source }) => Boolean(search) && !["picture", "sound", "none"].includes(source.kind);

function level(shown, rows, columns) {
  if (wish.level) return wish.level;
  const fine = [shown.model.source, shown.model.target].some(({ unit }) => unit && !WHOLE.includes(unit));
  return fine || Math.max(rows.length, columns.length) > MANY ? "words" : "tokens";
}

// Rows and columns with their labels, and the weights between them; null where the model has no attention.
export function attentionMap(shown) {
  const { output, input } = shown;
  if (!output.attention) return null;
  let [rows, columns] = [outputUnits(output), sourceUnits(output, input)];
  if (level(shown, rows, columns) === "words") [rows, columns] = [joinWords(rows, output.text), joinWords(columns, plain(input))];
  return { rows, columns, weights: pooled(output.attention, rows, columns), rowText: output.text, columnText: plain(input) };
}
