// Tokens as the text that they stand for: what a visitor has typed, or a model has written.

const MARKS = { "<end>": "⏎", "<start>": "⊢", "<empty>": "∅" };
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
const words = new Intl.Segmenter(undefined, { granularity: "word" });

export const letters = (text) => Array.from(text); // offsets count code points
export const isRightToLeft = (text) => RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? "");

// The text that the offsets of an input point into.
export const plain = (input) => (typeof input === "string" ? input : Array.isArray(input) ? input.join("\n") : "");

// A token by its name alone, where nobody knows its place in a text.
export const shown = (name) => name.replaceAll("▁", " ").replaceAll("␣", " ").replace(/^<0x(..)>$/u, "byte $1");
export const readable = (name) => (shown(name).trim() ? shown(name).replace(/[\ue000-\uf8ff]/gu, "⁀") : "␣"); // words without a space between
export const label = (name) => MARKS[name] ?? readable(name).trim();

function named(unit, text) {
  if (unit.mark) return MARKS[unit.name];
  const own = text.slice(unit.start, unit.end).join("");
  return own.trim() || (own && "␣") || label(unit.name);
}

// Tokens that share a character, such as its bytes, are one unit; each has the numbers of its tokens and their text.
export function units(names, offsets, whole) {
  const found = [];
  const text = letters(whole);
  names.forEach((name, item) => {
    const [start, end] = offsets?.[item] ?? [0, 0];
    const mark = name in MARKS && start === end;
    const last = found.at(-1);
    if (offsets?.length && last && !last.mark && !mark && (start < last.end || start === end)) {
      last.items.push(item);
      last.end = Math.max(last.end, end);
    } else found.push({ items: [item], name, mark, start, end });
  });
  return found.map((unit) => ({ ...unit, label: named(unit, text) }));
}

export const sourceUnits = (output, input) => units(output.source, output.source_offsets, plain(input));
export const outputUnits = (output) => units(output.tokens.map((token) => token.text),
  output.tokens.every((token) => token.offsets) ? output.tokens.map((token) => token.offsets) : [], output.text);

// Units joined to words, as the rules of Unicode cut them in any language.
export function joinWords(found, whole) {
  const text = letters(whole);
  const numbers = [...words.segment(whole)].flatMap(({ segment }, number) => letters(segment).map(() => number));
  const joined = [];
  for (const unit of found) {
    const own = numbers.slice(unit.start, unit.end).filter((_, place) => text[unit.start + place].trim());
    const last = joined.at(-1);
    if (last && own.length && last.number === own[0]) {
      last.items.push(...unit.items);
      [last.end, last.number] = [unit.end, own.at(-1)];
    } else joined.push({ ...unit, items: [...unit.items], number: own.at(-1) ?? null });
  }
  return joined.map((unit) => ({ ...unit, label: named(unit, text) }));
}

// Weights of tokens as weights of units: those of a column are added, those of a row averaged.
export const pooled = (weights, rows, columns) => rows.map(({ items }) => columns.map((column) => items.reduce(
  (sum, row) => sum + column.items.reduce((own, place) => own + (weights[row]?.[place] ?? 0), 0), 0) / items.length));

// The text of each unit with whatever stands before it, so that all together are the whole text.
export function slices(found, whole) {
  const text = letters(whole);
  let begin = 0;
  return found.map((unit, number) => {
    const end = number === found.findLastIndex(({ mark }) => !mark) ? text.length : Math.max(begin, unit.end);
    const own = unit.mark ? "" : text.slice(begin, end).join("");
    if (!unit.mark) begin = end;
    return own;
  });
}

// One piece of an input that was split, with what was written for it.
export function pieceOf(output, number) {
  const ends = output.piece_ends;
  if (!ends) return output;
  const [[source, token], [sourceEnd, tokenEnd]] = [number ? ends[number - 1] : [0, 0], ends[number]];
  const roots = (output.tree ?? []).filter(({ parent }) => parent === null).map((node) => node.number);
  return { ...output, source: output.source.slice(source, sourceEnd),
    source_offsets: output.source_offsets?.slice(source, sourceEnd), tokens: output.tokens.slice(token, tokenEnd),
    attention: output.attention?.slice(token, tokenEnd).map((row) => row.slice(source, sourceEnd)),
    tree: output.tree?.filter((node) => node.number >= roots[number] && !(node.number >= roots[number + 1])) };
}

// Where each piece of an input lies in its text; one piece where it was not split. Nothing where that is not known.
export function pieces(output) {
  if (!output.source_offsets?.length) return [];
  const ends = output.piece_ends ?? [[output.source.length, output.tokens.length]];
  return ends.map((_, number) => {
    const own = (output.piece_ends ? pieceOf(output, number) : output).source_offsets.filter(([start, end]) => start < end);
    return [own[0]?.[0] ?? 0, own.at(-1)?.[1] ?? 0];
  });
}
