// Marks behind the text of the input: its sentences where it was split, and what was not read.

import { element } from "./elements.js";
import { letters, pieces } from "./written.js";

const at = (id) => document.getElementById(id);

export function clearMarks() {
  at("marks").replaceChildren();
}

const piece = (text, className) => element(className ? "mark" : "span", { textContent: text, className });

// How many characters were not read; they are marked, and so is each sentence but where there is one alone.
export function mark(output, chosen = null) {
  const text = letters(at("source").value);
  const found = pieces(output);
  clearMarks();
  if (!found.length) return 0;
  const made = [];
  let [begin, unread] = [0, 0];
  const rest = (end) => {
    const own = text.slice(begin, end).join("");
    const lost = output.truncated && own.trim().length > 0;
    if (lost) unread += end - begin;
    made.push(piece(own, lost ? "unread" : ""));
  };
  found.forEach(([start, end], number) => {
    rest(start);
    const several = found.length > 1;
    made.push(piece(text.slice(start, end).join(""), several ? `sentence ${number === chosen ? "chosen" : ""}` : ""));
    begin = end;
  });
  rest(text.length);
  at("marks").replaceChildren(...made, "\n"); // a last line without letters has its height too
  follow();
  return unread;
}

function follow() {
  at("marks").scrollTop = at("source").scrollTop;
}

export function beginMarks() {
  at("source").addEventListener("scroll", follow);
  at("source").addEventListener("input", clearMarks);
}
