// The playground: asks, shows, and lets one go on from any token.

import { Away, listing, predict, ready, stream } from "./api.js";
import { best, chance, element, heat, percent, shown, threads, tree } from "./views.js";

const at = (id) => document.getElementById(id);
const NUMBERS = ["width", "groups", "temperature", "top_p", "seed", "expansions", "n_best"];
const state = { models: [], output: null, tree: null, begun: [], view: "threads", running: null };

function model() {
  return state.models.find((each) => each.name === at("model").value);
}

function search() {
  const kind = at("kind").value;
  const value = (name) => Number(at(name).value);
  const width = Math.max(value("width"), value("n_best"));
  switch (kind) {
    case "greedy": return { kind };
    case "beam": return { kind, width };
    case "diverse": {
      const groups = value("groups");
      return { kind, width: Math.ceil(width / groups) * groups, groups };
    }
    case "stochastic": return { kind, width, temperature: value("temperature"), seed: value("seed") };
    case "exact": return { kind, expansions: value("expansions") };
    default: {
      const drawn = { kind, temperature: value("temperature"), top_p: value("top_p"), seed: value("seed") };
      return kind === "risk" ? drawn : { ...drawn, draws: value("n_best") };
    }
  }
}

function request(chosen = search()) {
  const reads = model()?.source.kind !== "none";
  const body = { model: at("model").value, inputs: [reads ? at("source").value : ""] };
  if (!reads && !state.begun.length) body.prefix = at("source").value;
  if (model()?.search) {
    body.search = chosen;
    body.n_best = chosen.kind === "greedy" ? 1 : Number(at("n_best").value);
  }
  body.attention = true;
  body.alternatives = 8;
  if (state.begun.length) body.prefix_tokens = state.begun;
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

function showOthers(number, button) {
  const box = at("others");
  const token = state.output?.tokens[number];
  const open = button.getAttribute("aria-expanded") === "true";
  for (const each of at("text").children) each.setAttribute("aria-expanded", "false");
  box.hidden = open || !token?.alternatives?.length;
  if (box.hidden) return;
  button.setAttribute("aria-expanded", "true");
  const rows = token.alternatives.map((other) => {
    const bar = element("span", { className: "bar" });
    bar.style.setProperty("--p", chance(other));
    const row = element("button", { className: "other", type: "button" },
      element("b", { dir: "auto", textContent: other.text === "<end>" ? "(end here)" : shown(other.text) }),
      bar, element("span", { className: "number", textContent: percent(chance(other)) }));
    row.addEventListener("click", () => goOnFrom(number, other));
    return row;
  });
  const title = element("p", { textContent: "What could stand here; choose one, and the rest is written anew:" });
  box.replaceChildren(title, ...rows);
  rows[0]?.focus();
}

function goOnFrom(number, other) {
  if (other.text === "<end>" || !model()?.search) return;
  state.begun = [...state.output.tokens.slice(0, number).map((token) => token.text), other.text];
  write();
}

function showView() {
  const { output } = state;
  if (!output) return;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === state.view));
  }
  const views = { threads: () => threads(output, at("view").clientWidth), heat: () => heat(output), best: () => best(output),
    tree: () => tree(state.tree) };
  at("view").replaceChildren(views[state.view]());
  if (state.view === "tree" && !state.tree) growTree();
}

async function growTree() {
  const width = Math.min(6, Number(at("width").value));
  try {
    const body = { ...request({ kind: "beam", width }), n_best: 1, tree: true, alternatives: 0, attention: false };
    state.tree = (await predict(body)).outputs[0].tree ?? [];
  } catch (error) { say(error.message, true); return; }
  if (state.view === "tree") at("view").replaceChildren(tree(state.tree));
}

function showOutput(output, seconds) {
  state.output = output;
  state.tree = null;
  if (output.tokens.length) showTokens(output.tokens);
  else at("text").textContent = output.text;
  const facts = [];
  if (output.score !== null) facts.push(`log-probability ${output.score.toFixed(3)}`);
  facts.push(`${output.tokens.length} tokens`);
  if (seconds) facts.push(`${(1000 * seconds).toFixed(0)} ms`);
  if (output.truncated) facts.push("the input was cut");
  if (output.stopped === "length") facts.push("stopped at the longest length");
  if (output.stopped === "limit") facts.push("stopped before it was proved");
  at("facts").textContent = facts.join(" · ");
  showView();
}

function write() {
  at("result").hidden = false;
  at("others").hidden = at("comparison").hidden = true;
  at("facts").textContent = "";
  at("view").replaceChildren();
  location.replace(`#${encodeURIComponent(JSON.stringify(remembered()))}`);
  return during(async (signal) => {
    const began = performance.now();
    const certain = [];
    let output = null;
    at("text").replaceChildren();
    await stream(request(), signal, (kind, data) => {
      if (kind === "tokens") { certain.push(...data.tokens); showTokens(certain); }
      if (kind === "output") output = data.output;
      if (kind === "error") throw new Error(data.error);
      if (kind === "done") showOutput(output, (performance.now() - began) / 1000);
    });
  });
}

const SIDE_BY_SIDE = [["greedy", { kind: "greedy" }], ["beam of 5", { kind: "beam", width: 5 }],
  ["sample", { kind: "sample", temperature: 1, top_p: 0.95, seed: 1 }],
  ["minimum risk", { kind: "risk", draws: 16 }], ["exact", { kind: "exact", expansions: 1000 }]];

function compare() {
  return during(async (signal) => {
    const head = element("tr", {}, ...["model", "search", "output", "log-probability", "ms"]
      .map((name) => element("th", { textContent: name })));
    const body = element("tbody");
    at("comparison").replaceChildren(element("table", {}, element("thead", {}, head), body));
    at("comparison").hidden = false;
    for (const { name, search: searches } of state.models) {
      for (const [title, chosen] of searches ? SIDE_BY_SIDE : [["judgement", undefined]]) {
        const began = performance.now();
        const asked = { model: name, inputs: request().inputs, ...(chosen ? { search: chosen } : {}) };
        const [output] = (await predict(asked, signal)).outputs;
        body.append(element("tr", {},
          element("td", { textContent: name }), element("td", { textContent: title }),
          element("td", { dir: "auto", textContent: output.text }),
          element("td", { className: "number", textContent: output.score?.toFixed(3) ?? "–" }),
          element("td", { className: "number", textContent: (performance.now() - began).toFixed(0) })));
      }
    }
  });
}

function remembered() {
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, at(name).value]));
  return { source: at("source").value, model: at("model").value, kind: at("kind").value, ...numbers };
}

function recall() {
  try {
    const known = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    for (const name of ["source", "model", "kind", ...NUMBERS]) {
      if (typeof known[name] === "string") at(name).value = known[name];
    }
    return true;
  } catch { return false; }
}

function fitOptions() {
  const kind = at("kind").value;
  for (const each of document.querySelectorAll("[data-for]")) each.hidden = !each.dataset.for.split(" ").includes(kind);
  const chosen = model();
  at("options").hidden = at("compare").hidden = !chosen?.search;
  at("source-label").textContent = chosen?.source.kind === "none" ? "Beginning of the text" : "Input";
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); say("Copied."); } catch { say(text); }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function begin() {
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); state.begun = []; write(); });
  at("source").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); at("ask").requestSubmit(); }
  });
  at("stop").addEventListener("click", () => state.running?.abort());
  at("compare").addEventListener("click", compare);
  at("kind").addEventListener("change", fitOptions);
  at("model").addEventListener("change", fitOptions);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => { state.view = tab.dataset.view; showView(); });
  }
  at("link").addEventListener("click", () => copy(location.href));
  at("curl").addEventListener("click", () => copy(
    `curl -s -H 'Content-Type: application/json' ${location.origin}/v1/predict -d ${quoted(JSON.stringify(request()))}`));
  at("python").addEventListener("click", () => {
    const { inputs, ...options } = request();
    const text = JSON.stringify(options).replaceAll(":true", ":True").replaceAll(":false", ":False");
    copy(`import seqloom\n\nclient = seqloom.Client(${JSON.stringify(location.origin)})\n` +
      `print(client.predict(${JSON.stringify(inputs)}, **${text})[0].text)`);
  });
}

async function load() {
  try {
    state.models = (await listing()).models;
  } catch (error) {
    say(error.message, true);
    await waitForServer();
    return load();
  }
  at("model").replaceChildren(...state.models.map(({ name }) => element("option", { value: name, textContent: name })));
  const shared = recall();
  fitOptions();
  if (shared && at("source").value) write();
}

begin();
load();
