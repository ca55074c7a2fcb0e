// The playground: asks, shows, and lets one go on from any token.

import { Away, listing, predict, ready, searches, stream } from "./api.js";
import { begin as beginInputs, columns, fileName, fit, given, isThere } from "./inputs.js";
import { bars, forecast, parted, tagged } from "./judged.js";
import { listened, looked } from "./looks.js";
import { beginSearches, chosenOptions, chosenSearch, fitSearch, optionNames, outputs, setOption } from "./searches.js";
import { answered, forget, speak, takeBack } from "./thread.js";
import { best, chance, element, heading, heat, percent, shown, threads, tree } from "./views.js";

const at = (id) => document.getElementById(id);
const TEXTS = ["n_best", "source", "turns", "table", "choice", "steps"];
const MOST_IN_LINK = 6000; // characters
const VIEWS = { picture: ["looked", "best", "tree"], sound: ["listened", "best", "tree"], none: ["best", "tree"] };
const state = { models: [], limits: {}, asked: null, output: null, tree: null, begun: [], view: "threads", running: null };

const model = () => state.models.find((each) => each.name === at("model").value);
const talks = () => model()?.source.kind === "turns";
const views = () => VIEWS[model()?.source.kind] ?? ["threads", "heat", "best", "tree"];

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

async function during(work) {
  state.running?.abort();
  const own = new AbortController();
  state.running = own;
  at("stop").hidden = false;
  say("Writing …");
  try {
    await work(own.signal);
    if (state.running === own) say("");
  } catch (error) {
    if (error.name === "AbortError") { if (state.running === own) say("Stopped."); return; }
    say(error.message, true);
    if (error instanceof Away) waitForServer();
  } finally {
    if (state.running === own) { state.running = null; at("stop").hidden = true; }
  }
}

function tokenButton(token, number) {
  const end = token.text === "<end>";
  const made = element("button", { className: end ? "token end" : "token", type: "button",
    textContent: end ? "⏎" : shown(token.text), title: percent(chance(token)) });
  made.style.setProperty("--p", chance(token));
  made.setAttribute("aria-expanded", "false");
  made.addEventListener("click", () => showOthers(number, made));
  return made;
}

function showTokens(tokens) {
  at("text").replaceChildren(...tokens.map(tokenButton));
  const first = at("text").firstChild;
  if (first) first.textContent = first.textContent.trimStart() || first.textContent;
}

function showGaps(tokens) {
  const made = tokens.map(tokenButton);
  const pieces = parted(state.asked.inputs[0], model().target.marker);
  at("text").replaceChildren(...pieces.map(({ text, gap }) => (gap && made.shift()) || text));
}

function showOthers(number, button) {
  const box = at("others");
  const token = state.output?.tokens[number];
  const open = button.getAttribute("aria-expanded") === "true";
  for (const each of at("text").querySelectorAll(".token")) each.setAttribute("aria-expanded", "false");
  box.hidden = open || !token?.alternatives?.length;
  if (box.hidden) return;
  button.setAttribute("aria-expanded", "true");
  const rows = (model().search ? token.alternatives : []).map((other) => {
    const bar = element("span", { className: "bar" });
    bar.style.setProperty("--p", chance(other));
    const row = element("button", { className: "other", type: "button" },
      element("b", { dir: "auto", textContent: other.text === "<end>" ? "(end here)" : shown(other.text) }),
      bar, element("span", { className: "number", textContent: percent(chance(other)) }));
    row.addEventListener("click", () => goOnFrom(number, other));
    return row;
  });
  const rest = rows.length ? "; choose one, and the rest is written anew:" : ", and how likely it is:";
  box.replaceChildren(element("p", { textContent: `What could stand here${rest}` }), ...(rows.length ? rows : [bars(token)]));
  (rows[0] ?? box).focus();
}

function goOnFrom(number, other) {
  if (other.text === "<end>") return;
  state.begun = [...state.output.tokens.slice(0, number).map((token) => token.text), other.text];
  write();
}

function showView() {
  const { output } = state;
  const open = views();
  if (!open.includes(state.view)) [state.view] = open;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.view === state.view;
    tab.hidden = !open.includes(tab.dataset.view);
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  at("view").setAttribute("aria-labelledby", `tab-${state.view}`);
  if (!output || !model()?.search) return;
  const drawings = { threads: () => threads(output, at("view").clientWidth), heat: () => heat(output), best: () => best(output),
    tree: () => tree(state.tree), looked: () => looked(output, model().source), listened: () => listened(output) };
  at("view").replaceChildren(drawings[state.view]());
  if (state.view === "tree" && !state.tree) growTree();
}

async function growTree() {
  const width = Math.min(6, Number(at("width")?.value) || 5);
  try {
    const body = { ...request({ kind: "beam", width }), n_best: 1, tree: true, alternatives: 0, attention: false };
    state.tree = (await predict(body)).outputs[0].tree ?? [];
  } catch (error) { say(error.message, true); return; }
  if (state.view === "tree") at("view").replaceChildren(tree(state.tree));
}

function judged(output) {
  switch (model().target.kind) {
    case "label": return output.tokens.length ? bars(output.tokens[0]) : element("p", { textContent: output.text });
    case "tags": return tagged(output);
    case "series": return forecast(output.forecast, columns(), at("judged").clientWidth);
    default: return element("p", { className: "figure", textContent: output.text });
  }
}

function showOutput(output, seconds) {
  state.output = output;
  state.tree = null;
  const writes = Boolean(model().search);
  const fills = model().target.kind === "blanks";
  for (const id of ["text", "scale"]) at(id).hidden = !writes && !fills;
  at("view").hidden = document.querySelector("[role=tablist]").hidden = !writes;
  if (writes) answered(output.text);
  if (fills) showGaps(output.tokens);
  else if (!writes) at("judged").replaceChildren(judged(output));
  else if (output.tokens.length) showTokens(output.tokens);
  else at("text").textContent = output.text;
  const facts = [];
  if (output.score !== null && output.tokens.length) facts.push(`log-probability ${output.score.toFixed(3)}`);
  if (writes) facts.push(`${output.tokens.length} tokens`);
  if (seconds) facts.push(`${(1000 * seconds).toFixed(0)} ms`);
  if (output.truncated) facts.push("the input was cut");
  if (output.stopped === "length") facts.push("stopped at the longest length");
  if (output.stopped === "limit") facts.push("stopped before it was proved");
  at("facts").textContent = facts.join(" · ");
  at("result").dataset.state = "done";
  showView();
}

function write() {
  if (!isThere()) { say("Give the model something to read first.", true); return undefined; }
  at("result").hidden = false;
  at("result").dataset.state = "writing";
  at("others").hidden = at("comparison").hidden = true;
  at("facts").textContent = "";
  for (const id of ["view", "judged", "text"]) at(id).replaceChildren();
  location.replace(`#${encodeURIComponent(JSON.stringify(remembered()))}`);
  answered(null);
  state.asked = request();
  return during(async (signal) => {
    const began = performance.now();
    const certain = [];
    let output = null;
    try {
      await stream(state.asked, signal, (kind, data) => {
        if (kind === "tokens") { certain.push(...data.tokens); showTokens(certain); answered(data.text, true); }
        if (kind === "output") output = data.output;
        if (kind === "error") throw new Error(data.error);
        if (kind === "done") showOutput(output, (performance.now() - began) / 1000);
      });
    } catch (error) {
      if (state.running?.signal === signal && talks()) takeBack();
      throw error;
    }
  });
}

const SIDE_BY_SIDE = [["greedy", { kind: "greedy" }], ["beam of 5", { kind: "beam", width: 5 }],
  ["sample", { kind: "sample", temperature: 1, top_p: 0.95, seed: 1 }],
  ["minimum risk", { kind: "risk", draws: 16 }], ["exact", { kind: "exact", expansions: 1000 }]];

const alike = () => state.models.filter((each) => ["source", "target"].every((side) => each[side].kind === model()?.[side].kind));

function summary(output) {
  if (output.forecast) return forecast(output.forecast, columns(), at("ask").clientWidth / 2);
  const [only] = output.tokens.length === 1 ? output.tokens : [];
  return element("span", { dir: "auto", textContent: only ? `${output.text} (${percent(chance(only))})` : output.text });
}

function sideBySide(asked) {
  if (!isThere()) { say("Give the model something to read first.", true); return undefined; }
  return during(async (signal) => {
    const head = heading(["model", "search", "output"], ["log-probability", "ms"]);
    const body = element("tbody");
    at("comparison").replaceChildren(element("table", {}, element("thead", {}, head), body));
    at("comparison").hidden = false;
    for (const [name, title, chosen] of asked) {
      const began = performance.now();
      const sent = { model: name, inputs: [given()], ...(chosen ? { search: chosen } : {}) };
      let cells;
      try {
        const [output] = (await predict(sent, signal)).outputs;
        cells = [summary(output), output.score?.toFixed(3) ?? "–", (performance.now() - began).toFixed(0)];
      } catch (error) {
        if (error.name === "AbortError" || error instanceof Away) throw error;
        cells = [error.message, "–", "–"];
      }
      const [found, score, time] = cells;
      body.append(element("tr", {},
        element("td", { textContent: name }), element("td", { textContent: title }), element("td", {}, found),
        element("td", { className: "number", textContent: score }), element("td", { className: "number", textContent: time })));
    }
  });
}

const compareSearches = () => sideBySide(SIDE_BY_SIDE.map(([title, chosen]) => [model().name, title, chosen]));
const compareModels = () => sideBySide(alike().map((each) => [each.name, each.search ? "its own" : "judgement"]));

function remembered() {
  const known = { model: at("model").value, kind: at("kind").value, ...chosenOptions() };
  for (const name of TEXTS) {
    if (at(name).value && at(name).value.length <= MOST_IN_LINK) known[name] = at(name).value;
  }
  return known;
}

function recall() {
  let known;
  try { known = JSON.parse(decodeURIComponent(location.hash.slice(1))); } catch { return false; }
  const set = (name) => { if (typeof known?.[name] === "string") at(name).value = known[name]; };
  set("model");
  fitModel();
  for (const name of optionNames()) if (typeof known?.[name] === "string") setOption(name, known[name]);
  for (const name of ["kind", ...TEXTS]) set(name);
  fitOptions();
  return true;
}

function fitOptions() {
  fitSearch();
  at("options").hidden = at("compare").hidden = !model()?.search;
  at("others-too").hidden = alike().length < 2;
}

function fitModel() {
  const chosen = model();
  if (!chosen) return;
  fit(chosen, state.limits);
  at("text").ariaLive = talks() ? "off" : "polite"; // the thread is read out
  if (chosen.source.kind === "none") { at("kind").value = "sample"; setOption("temperature", "0.8"); }
  else if (chosen.search) at("kind").value = chosen.search.kind;
  at("go").textContent = { series: "Forecast", label: "Judge it", tags: "Tag it", number: "Judge it", blanks: "Fill in" }[chosen.target.kind]
    ?? { none: "Go on", turns: "Send" }[chosen.source.kind] ?? "Write it";
  withoutResult();
  fitOptions();
  showView();
}

function withoutResult() {
  at("result").hidden = at("comparison").hidden = true;
  [state.output, state.begun] = [null, []];
}

function beginAnew() {
  state.running?.abort();
  forget();
  withoutResult();
  location.replace(`#${encodeURIComponent(JSON.stringify(remembered()))}`);
  at("line").focus();
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); say("Copied."); } catch { say(text); }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const PLACE = "FILE-CONTENT";

function asCurl() {
  const head = `curl -s -H 'Content-Type: application/json' ${location.origin}/v1/predict -d`;
  if (fileName() === null) return `${head} ${quoted(JSON.stringify(request()))}`;
  const body = quoted(JSON.stringify({ ...request(), inputs: [{ base64: PLACE }] }));
  return `${head} @- <<< ${body.replace(PLACE, `'"$(base64 -w0 ${quoted(fileName())})"'`)}`;
}

function asPython() {
  const { inputs, ...options } = request();
  const text = JSON.stringify(options).replaceAll(":true", ":True").replaceAll(":false", ":False");
  const read = JSON.stringify(inputs).replaceAll(":null", ":None").replaceAll(",null", ",None").replaceAll("[null", "[None");
  const sent = fileName() === null ? read : `[Path(${JSON.stringify(fileName())})]`;
  return `${fileName() === null ? "" : "from pathlib import Path\n\n"}import seqloom\n\n` +
    `client = seqloom.Client(${JSON.stringify(location.origin)})\nprint(client.predict(${sent}, **${text})[0].text)`;
}

function chooseTab(event) {
  const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = tabs.at((tabs.indexOf(document.activeElement) + step) % tabs.length);
  state.view = next.dataset.view;
  showView();
  next.focus();
}

function begin() {
  const anew = () => { state.begun = []; write(); };
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); if (talks()) speak(); anew(); });
  for (const id of ["source", "line"]) at(id).addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); at("ask").requestSubmit(); }
  });
  beginInputs(say, anew);
  at("stop").addEventListener("click", () => state.running?.abort());
  at("clear").addEventListener("click", beginAnew);
  at("compare").addEventListener("click", compareSearches);
  at("others-too").addEventListener("click", compareModels);
  at("kind").addEventListener("change", fitOptions);
  at("model").addEventListener("change", fitModel);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => { state.view = tab.dataset.view; showView(); });
    tab.addEventListener("keydown", chooseTab);
  }
  at("link").addEventListener("click", () => copy(location.href));
  at("curl").addEventListener("click", () => copy(asCurl()));
  at("python").addEventListener("click", () => copy(asPython()));
}

async function load() {
  try {
    ({ models: state.models, limits: state.limits } = await listing());
    beginSearches((await searches()).searches);
  } catch (error) {
    say(error.message, true);
    await waitForServer();
    return load();
  }
  at("model").replaceChildren(...state.models.map(({ name }) => element("option", { value: name, textContent: name })));
  fitModel();
  if (recall() && fileName() === null && isThere()) write();
  return undefined;
}

begin();
load();
