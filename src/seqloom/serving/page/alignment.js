// Words of several outputs laid against those of the first, with the fewest changes.

const words = new Intl.Segmenter(undefined, { granularity: "word" });

export const wordsOf = (text) => [...words.segment(text)].map(({ segment }) => segment.trim()).filter(Boolean);

// Pairs of a word of one list and of the other; null where a word has no partner (Levenshtein's distance).
export function pairs(one, other) {
  const costs = Array.from({ length: one.length + 1 }, (_, i) => Array.from({ length: other.length + 1 }, (__, j) => (i ? (j ? 0 : i) : j)));
  for (let i = 1; i <= one.length; i += 1) {
    for (let j = 1; j <= other.length; j += 1) {
      costs[i][j] = Math.min(costs[i - 1][j] + 1, costs[i][j - 1] + 1, costs[i - 1][j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
    }
  }
  const found = [];
  let [i, j] = [one.length, other.length];
  while (i || j) {
    const same = i && j && costs[i][j] === costs[i - 1][j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
    if (same) found.push([one[i -= 1], other[j -= 1]]);
    else if (i && costs[i][j] === costs[i - 1][j] + 1) found.push([one[i -= 1], null]);
    else found.push([null, other[j -= 1]]);
  }
  return found.reverse();
}

// A row of words for each text, all of one length, with null for a gap; the first text sets the columns.
export function aligned(texts) {
  const [first, ...others] = texts.map(wordsOf);
  const laid = others.map((each) => pairs(first, each));
  const gaps = (found) => { // the words that stand before each word of the first, and after the last
    const before = [[]];
    const partners = [];
    for (const [mine, theirs] of found) {
      if (mine === null) before.at(-1).push(theirs);
      else { partners.push(theirs); before.push([]); }
    }
    return { before, partners };
  };
  const parts = laid.map(gaps);
  const room = Array.from({ length: first.length + 1 }, (_, place) => Math.max(0, ...parts.map(({ before }) => before[place].length)));
  const row = (before, partners) => room.flatMap((most, place) => [
    ...Array.from({ length: most }, (_, number) => before[place]?.[number] ?? null), ...(place < first.length ? [partners[place]] : [])]);
  return [row([], first), ...parts.map(({ before, partners }) => row(before, partners))];
}
