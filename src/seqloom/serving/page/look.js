// Looks into the model, asked for once for each output.

import { look } from "./api.js";
import { letters, pieces, plain } from "./written.js";

const MOST = 40; // answers that are kept
const found = new Map();

// The input of the part that is looked at, as a request has it.
function inputOf({ whole, piece, input }) {
  if (!whole.piece_ends) return input;
  const [start, end] = pieces(whole)[piece];
  return letters(plain(input)).slice(start, end).join("");
}

// What a request for this look would be answered; the output is the one on the screen.
export async function lookAt(shown, wanted) {
  const { model, output } = shown;
  const named = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== null && value !== undefined));
  const body = { model: model.name, input: model.source.kind === "none" ? "" : inputOf(shown), ...named };
  if (model.search) body.tokens = output.tokens.map((token) => token.text);
  const key = JSON.stringify(body);
  if (!found.has(key)) {
    found.set(key, look(body).then((answer) => answer.look));
    found.get(key).catch(() => found.delete(key));
    if (found.size > MOST) found.delete(found.keys().next().value);
  }
  return found.get(key);
}
