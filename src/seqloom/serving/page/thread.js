// A conversation: what was said so far, and the reply to it. Turns are kept in a field, as any input is.

import { element } from "./elements.js";

const at = (id) => document.getElementById(id);

let reply = null; // to the last turn, as far as it is written
let answers = true; // whether the model replies, rather than judges

export function turns() {
  try {
    const found = JSON.parse(at("turns").value || "[]");
    return Array.isArray(found) ? found.filter((turn) => typeof turn === "string") : [];
  } catch { return []; }
}

export function newest(most) {
  const all = turns();
  let room = most;
  const first = all.findLastIndex((turn) => (room -= turn.length + 1) < 0);
  return all.slice(Math.min(first + 1, all.length - 1));
}

function keep(said, answer) {
  at("turns").value = JSON.stringify(said);
  answered(answer);
}

export function fitThread(replies) {
  answers = replies;
  answered(null);
}

// What is typed becomes the last turn, and waits for its reply; without anything typed, the last one does.
export function speak() {
  const line = at("line").value.trim();
  if (line) keep([...turns(), ...(reply === null ? [] : [reply]), line], null);
  else answered(null);
  at("line").value = "";
}

// A turn that has no reply goes back to where it was typed; a reply that was stopped stays as it is.
export function takeBack() {
  if (reply !== null) { answered(reply); return; }
  const said = turns();
  const line = said.pop() ?? "";
  at("line").value ||= line;
  keep(said, answers ? said.pop() ?? null : null);
}

export const forget = () => keep([], null);

export function answered(text, busy = false) {
  reply = text;
  const said = turns();
  const whole = reply === null ? said : [...said, reply];
  const mine = (place) => !answers || (said.length - 1 - place) % 2 === 0;
  const who = (place) => (answers ? (mine(place) ? "You" : "Model") : `Turn ${place + 1}`);
  const thread = at("thread");
  thread.setAttribute("aria-busy", String(busy));
  whole.forEach((turn, place) => {
    const line = element("p", { className: mine(place) ? "turn mine" : "turn" }, element("b", { textContent: who(place) }),
      " ", element("span", { dir: "auto", textContent: turn || "(nothing)" }));
    const old = thread.children[place];
    if (!old) thread.append(line);
    else if (!old.isEqualNode(line)) old.replaceWith(line); // what has not changed is not read out again
  });
  while (thread.children.length > whole.length) thread.lastChild.remove();
  thread.scrollTop = thread.scrollHeight;
}
