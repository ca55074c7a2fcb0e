// The playground: asks, shows, and lets one go on from any token.

import { Away, listing, ready, searches, stream } from "./api.js";
import { begin as beginInputs, columns, fileName, fill, fit, given, isThere, isTyped, plainText } from "./inputs.js";
import { alike, beginComparison, compareModels, compareSearches } from "./compare.js";
import { bars, forecast, parted, tagged } from "./judged.js";
import { beginSearches, chosenSearch, describeSearch, fitSearch, outputs, setOption } from "./searches.js";
import { asCurl, asPython } from "./snippets.js";
import { answered, forget, speak, takeBack } from "./thread.js";
import { closeOthers, showOthers, tokenButton, tokenButtons } from "./tokens.js";
import { element, rove } from "./elements.js";
import { beginMarks, clearMarks, mark } from "./marks.js";
import { beginViews, chosenView, fitViews, setView, showViews } from "./panel.js";
import { letters, shown } from "./written.js";
import { address, keepVisit, linked, remembered, restore } from "./visit.js";

const at = (id) => document.getElementById(id);
const NOTHING = "Give the model something to read first.";
const PAUSE = 350; // milliseconds without a key, after which what is typed is written for
const state = { models: [], limits: {}, needsToken: false, asked: null, file: null, output: null,
  begun: [], choices: [], running: null, last: null, typed: null, examples: [] };

const model = () => state.models.find((each) => each.name === at("model").value);
const splits = (each) => each?.source.splits && each.source.kind !== "none" && typeof given() === "string";
const talks = () => model()?.source.kind === "turns";

function request(chosen = chosenSearch()) {
  const goesOn = model()?.source.kind === "none" && state.begun.length;
  const body = { model: at("model").value, inputs: [goesOn ? "" : given()] };
  if (model()?.search) {
    body.search = chosen;
    body.n_best = outputs();
    body.attention = true;
    if (state.begun.length) body.prefix_tokens = state.begun;
  }
  if (model()?.target.kind !== "series") body.alternatives = 8;
  if (splits(model())) body.overlong = "split";
  return body;
}

function say(text, wrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("wrong", wrong);
}

async function waitForServer() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    try {
      await ready();
      say("The server is back.");
      return;
    } catch { /* not yet */ }
  }
}

// What was under way when the server went away is done when it is back, unless something else was asked for since.
async function askAgain(own, work) {
  await waitForServer();
  if (state.last !== own || talks()) return;
  await during(work);
  if (!at("status").textContent) say("The server is back.");
}

async function during(work) {
  state.running?.abort();
  const own = new AbortController();
  state.running = state.last = own;
  at("stop").hidden = false;
  say("Writing …");
  try {
    await work(own.signal);
    if (state.running === own) say("");
  } catch (error) {
    if (error.name === "AbortError") { if (state.running === own) say("Stopped."); return; }
    say(error.message, true);
    if (error instanceof Away) askAgain(own, work);
  } finally {
    if (state.running === own) { state.running = null; at("stop").hidden = true; }
  }
}

function showTokens(output) {
  const made = tokenButtons(output, state.begun.length, openToken);
  at("text").replaceChildren(...made);
  if (made.length) rove(made);
}

function showGaps(tokens) {
  const made = tokens.map((token, number) => tokenButton(token, number, { text: shown(token.text), open: openToken }));
  const left = [...made];
  const pieces = parted(state.asked.inputs[0], model().target.marker);
  at("text").replaceChildren(...pieces.map(({ text, gap }) => (gap && left.shift()) || text));
  if (made.length) rove(made);
}

function openToken(number, button) {
  const choose = model().search ? (other) => goOnFrom(number, other) : null;
  showOthers(state.output?.tokens[number], button, choose);
}

function goOnFrom(number, other) {
  state.choices.push(state.begun);
  state.begun = [...state.output.tokens.slice(0, number).map((token) => token.text), other.text];
  write();
}

// Reads other words in the place of some, and writes anew.
function editInput({ start, end }, words) {
  const text = letters(at("source").value);
  const own = text.slice(start, end).join("");
  const space = own.slice(0, own.length - own.trimStart().length); // a token may begin with the space before it
  at("source").value = [...text.slice(0, start), space, words, ...text.slice(end)].join("");
  [state.begun, state.choices] = [[], []];
  write();
}

function undoChoice() {
  state.begun = state.choices.pop() ?? [];
  write();
}

function judged(output) {
  switch (model().target.kind) {
    case "label": return output.tokens.length ? bars(output.tokens[0]) : element("p", { textContent: output.text });
    case "tags": return tagged(output);
    case "series": return forecast(output.forecast, columns(), at("judged").clientWidth, triedExample()?.reference);
    default: return element("p", { className: "figure", textContent: output.text });
  }
}

function showOutput(output, seconds) {
  state.output = output;
  const writes = Boolean(model().search);
  const fills = model().target.kind === "blanks";
  for (const id of ["text", "scale"]) at(id).hidden = !writes && !fills;
  at("view").hidden = at("views").hidden = !at("views").childElementCount;
  if (writes) answered(output.text);
  if (fills) showGaps(output.tokens);
  else if (!writes) at("judged").replaceChildren(judged(output));
  else if (output.tokens.length) showTokens(output);
  else at("text").textContent = output.text;
  const facts = [];
  if (output.score !== null && output.tokens.length) facts.push(`log-probability ${output.score.toFixed(3).replace(/^-(?=0\.0+$)/u, "")}`);
  if (writes) facts.push(`${output.tokens.length} tokens`);
  if (seconds) facts.push(`${(1000 * seconds).toFixed(0)} ms`);
  if (output.stopped === "length") facts.push("stopped at the longest length");
  if (output.stopped === "limit") facts.push("stopped before it was proved");
  at("facts").textContent = facts.join(" · ");
  at("undo").hidden = !state.begun.length;
  showReference();
  at("result").dataset.state = "done";
  showViews({ output, model: model(), asked: state.asked, input: state.asked.inputs[0],
    force: goOnFrom, edit: editInput });
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const triedExample = () => model().examples.find(({ input }) => same(input, state.asked.inputs[0]));

function showReference() {
  const known = triedExample();
  at("reference").hidden = !known?.reference || state.begun.length > 0 || model().target.kind === "series"; // its chart has it
  at("reference").lastElementChild.textContent = known?.reference ?? "";
}

function write(typed = false) {
  clearTimeout(state.typed);
  if (!isThere()) { say(NOTHING, true); return undefined; }
  at("result").hidden = false;
  at("result").dataset.state = "writing";
  at("others").hidden = at("comparison").hidden = true;
  at("facts").textContent = "";
  if (!typed) for (const id of ["view", "judged", "text"]) at(id).replaceChildren();
  clearMarks();
  const known = remembered({ begun: state.begun, view: chosenView() });
  location.replace(address(known));
  answered(null);
  [state.asked, state.file] = [request(), fileName()];
  pressExample();
  return during(async (signal) => {
    const began = performance.now();
    const certain = [];
    let output = null;
    try {
      await stream(state.asked, signal, (kind, data) => {
        if (kind === "tokens") { certain.push(...data.tokens); showTokens({ tokens: certain, text: data.text }); answered(data.text, true); }
        if (kind === "output") output = data.output;
        if (kind === "error") throw new Error(data.error);
        if (kind !== "done") return;
        showOutput(output, (performance.now() - began) / 1000);
        keepVisit(known, state.file === null ? plainText() : known.file?.name ?? "", output.text, { typed, open: revisit });
      });
    } catch (error) {
      if (state.running?.signal === signal && talks()) takeBack();
      throw error;
    }
  });
}

async function bringBack(known) {
  const { begun, view, file } = restore(known, fitModel, fitOptions);
  if (file) try { await fill(file); } catch { say("The file of this link cannot be read.", true); }
  state.begun = begun;
  if (view) { setView(view); fitViews(model()); }
  state.examples = model().examples.map(({ input }) => input);
}

async function revisit(known) {
  await bringBack(known);
  state.choices = [];
  write();
}

function fitOptions() {
  fitSearch();
  at("settings").hidden = at("compare").hidden = !model()?.search;
  at("chosen").textContent = describeSearch();
  at("others-too").hidden = alike(state.models, model()).length < 2;
}

function fitModel() {
  const chosen = model();
  if (!chosen) return;
  fit(chosen, state.limits);
  at("text").ariaLive = talks() ? "off" : "polite"; // the thread is read out
  if (chosen.source.kind === "none") { at("kind").value = "sample"; setOption("temperature", "0.8"); }
  else if (chosen.search) at("kind").value = chosen.search.kind;
  at("go").textContent = chosen.verb;
  at("about").replaceChildren(...introduction(chosen));
  at("about").hidden = false;
  at("typing").hidden = !isTyped();
  showExamples(chosen.examples);
  withoutResult();
  fitOptions();
  fitViews(chosen);
}

function introduction({ summary, data, result }) {
  const words = [summary, data].filter(Boolean).join(", ");
  return result ? [`${words}. Held out: `, element("b", { textContent: result }), "."] : [`${words}.`];
}

function showExamples(examples) {
  at("examples").hidden = !examples.length;
  at("examples").replaceChildren(...examples.map(({ input }, number) => {
    const words = typeof input === "string" ? input : Array.isArray(input) ? input.join(" · ") : `Example ${number + 1}`;
    const made = element("button", { className: "example", type: "button", dir: "auto", textContent: words, title: words });
    made.addEventListener("click", () => tryExample(number));
    return made;
  }));
}

function pressExample() {
  const [sent] = state.asked.inputs;
  [...at("examples").children].forEach((button, number) => {
    button.setAttribute("aria-pressed", String(same(model().examples[number].input, sent)));
  });
}

async function tryExample(number) {
  [state.begun, state.choices] = [[], []];
  await fill(model().examples[number].input);
  write();
}

function chooseModel() {
  const untouched = !isThere() || state.examples.some((input) => same(input, given()));
  fitModel();
  state.examples = model().examples.map(({ input }) => input);
  if (untouched && state.examples.length) tryExample(0);
}

function writeWhileTyping() {
  clearTimeout(state.typed);
  if (!at("live").checked || at("typing").hidden || !isThere()) return;
  const { marker } = model().target;
  if (marker && !parted(plainText(), marker).some(({ gap }) => gap)) return;
  state.typed = setTimeout(() => { [state.begun, state.choices] = [[], []]; write(true); }, PAUSE);
}

function escape(event) {
  if (event.key !== "Escape") return;
  clearTimeout(state.typed);
  if (closeOthers()) event.preventDefault();
  else state.running?.abort();
}

function withoutResult() {
  at("result").hidden = at("comparison").hidden = true;
  [state.output, state.begun, state.choices] = [null, [], []];
}

function beginAnew() {
  state.running?.abort();
  forget();
  withoutResult();
  location.replace(address(remembered({ begun: [], view: chosenView() })));
  at("line").focus();
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); say("Copied."); } catch { say(text); }
}

// The link is of what was written, whatever has been typed since.
function linkView(name) {
  const known = linked();
  if (known) location.replace(address({ ...known, view: name }));
}

// Marks what was read of the input, and says so where something was not.
function markInput(output, piece) {
  const unread = state.asked.inputs[0] === at("source").value ? mark(output, piece) : 0;
  at("unread").hidden = !output.truncated;
  at("unread").textContent = unread ? `The marked ${unread.toLocaleString("en")} characters of the input were too many and have not been read.`
    : "The input was too long; not all of it has been read.";
}

function begin() {
  const anew = () => { [state.begun, state.choices] = [[], []]; write(); };
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); if (talks()) speak(); anew(); });
  for (const id of ["source", "line"]) at(id).addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); at("ask").requestSubmit(); }
  });
  beginInputs(say, anew);
  at("stop").addEventListener("click", () => state.running?.abort());
  at("clear").addEventListener("click", beginAnew);
  for (const [id, compare] of [["compare", compareSearches], ["others-too", compareModels]]) {
    at(id).addEventListener("click", () => (isThere() ? compare() : say(NOTHING, true)));
  }
  at("kind").addEventListener("change", fitOptions);
  at("options").addEventListener("input", () => { at("chosen").textContent = describeSearch(); });
  at("model").addEventListener("change", chooseModel);
  at("source").addEventListener("input", writeWhileTyping);
  document.addEventListener("keydown", escape);
  at("copy").addEventListener("click", () => copy(state.output.text));
  at("undo").addEventListener("click", undoChoice);
  beginComparison({ models: () => state.models, model, given, during, splits, chart: (found, room) => forecast(found, columns(), room) });
  beginViews(say, linkView, markInput);
  beginMarks();
  at("link").addEventListener("click", () => copy(location.href));
  at("curl").addEventListener("click", () => copy(asCurl(state.asked, state.file, state.needsToken)));
  at("python").addEventListener("click", () => copy(asPython(state.asked, state.file, state.needsToken)));
}

async function load() {
  try {
    const [found, known] = await Promise.all([listing(), searches()]);
    ({ models: state.models, limits: state.limits, needs_token: state.needsToken } = found);
    beginSearches(known.searches);
  } catch (error) {
    say(error.message, true);
    await waitForServer();
    return load();
  }
  at("model").replaceChildren(...state.models.map(({ name }) => element("option", { value: name, textContent: name })));
  const known = linked();
  if (known) {
    await bringBack(known);
    if (isThere()) write();
  } else chooseModel();
  return undefined;
}

begin();
load();
