// The tokens of an output: each can be chosen, to see what else could stand in its place.

import { bars } from "./judged.js";
import { chance, element, percent, rove } from "./elements.js";
import { outputUnits, readable, shown, slices } from "./written.js";

const at = (id) => document.getElementById(id);

// Not a button element, since the text of one cannot be selected.
export function tokenButton(token, number, { text, forced = 0, open }) {
  const end = token.text === "<end>";
  const made = element("span", { className: end ? "token end" : "token", role: "button",
    textContent: end ? "⏎" : text, title: percent(chance(token)) });
  if (end) made.ariaLabel = "end";
  if (number === forced - 1) { made.classList.add("chosen"); made.title += " · chosen"; made.ariaDescription = "chosen"; }
  made.style.setProperty("--p", chance(token));
  made.setAttribute("aria-expanded", "false");
  made.addEventListener("click", () => open(number, made));
  made.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(number, made); }
  });
  return made;
}

// A button for each token or, where several make one character, for all of these; together they read as the text itself.
export function tokenButtons(output, forced, open) {
  const found = outputUnits(output);
  const texts = slices(found, output.text);
  return found.map(({ items }, place) => {
    const own = items.map((item) => output.tokens[item]);
    const whole = { ...own[0], log_probability: own.some((token) => token.log_probability === null) ? null
      : own.reduce((sum, token) => sum + token.log_probability, 0) };
    const number = items.find((item) => item === forced - 1) ?? items[0];
    return tokenButton(whole, number, { text: own[0].offsets ? texts[place] : shown(own[0].text), forced, open });
  });
}

const opened = () => at("text").querySelector(".token[aria-expanded=true]");

// Whether there was anything to close; the focus goes back to where it came from.
export function closeOthers() {
  const from = opened();
  if (at("others").hidden || !from) return false;
  from.setAttribute("aria-expanded", "false");
  at("others").hidden = true;
  from.focus();
  return true;
}

export function showOthers(token, button, choose) {
  const box = at("others");
  const wasOpen = button === opened();
  for (const each of at("text").querySelectorAll(".token")) each.setAttribute("aria-expanded", "false");
  box.hidden = wasOpen || !token?.alternatives?.length;
  if (box.hidden) return;
  button.setAttribute("aria-expanded", "true");
  const rows = (choose ? token.alternatives : []).map((other) => {
    const bar = element("span", { className: "bar" });
    bar.style.setProperty("--p", chance(other));
    const end = other.text === "<end>";
    const row = element("button", { className: "other", type: "button", disabled: end },
      element("b", { dir: "auto", textContent: end ? "(end here)" : readable(other.text) }),
      bar, element("span", { className: "number", textContent: percent(chance(other)) }));
    row.addEventListener("click", () => choose(other));
    return row;
  });
  const rest = rows.length ? "; choose one, and the rest is written anew:" : ", and how likely it is:";
  box.replaceChildren(element("p", { textContent: `What could stand here${rest}` }), ...(rows.length ? rows : [bars(token)]));
  const able = rows.filter((row) => !row.disabled);
  if (able.length) rove(able);
  (able[0] ?? box).focus();
}
