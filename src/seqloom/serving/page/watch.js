// The page of `seqloom watch`: asks for news of a run every second and draws them.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320, HEIGHT = 150, LEFT = 44, BOTTOM = 18, TOP = 8;
const MOST_POINTS = 400;
const EVERY = 1000; // milliseconds between two questions
const LATE = 120; // seconds without news after which the page says so
const key = location.hash.slice(1);
const find = id => document.getElementById(id);
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const run = { generation: 0, events: [], state: null, insights: new Map(), shown: null };

const number = { format: value => (value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : plain.format(value)) };

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [each, value] of Object.entries(attributes)) made.setAttribute(each, value);
  return made;
}

function svg(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [each, value] of Object.entries(attributes)) made.setAttribute(each, value);
  made.textContent = text;
  return made;
}

async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.json()).detail ?? answer.statusText);
  return answer.json();
}

async function refresh() {
  run.state = await ask("/v1/run");
  const { generation } = run;
  const news = await ask(`/v1/events?generation=${generation}&after=${run.events.length}`);
  run.generation = news.generation;
  run.events.length = news.start;
  run.events.push(...news.events);
  showProgress();
  if (news.events.length || news.start === 0) {
    showCurves();
    showSamples();
  }
  await showInsight();
}

const updates = () => run.events.filter(each => each.event === "update");
const validations = () => run.events.filter(each => each.event === "validation");

function showProgress() {
  const { state } = run, made = run.events.reduce((most, each) => Math.max(most, each.step ?? 0), 0);
  document.title = `${state.name} · Seqloom`;
  find("name").textContent = state.name;
  find("title").textContent = state.begun ? state.title : "Waiting for the training to begin.";
  if (!state.begun) return;
  find("bar").max = state.updates;
  find("bar").value = made;
  find("figures").textContent = [
    `update ${whole.format(made)} of ${whole.format(state.updates)}`,
    ...speed(made), lastNews(),
  ].filter(Boolean).join(" · ");
}

function speed(made) {
  const latest = updates().slice(-10), seconds = mean(latest.map(each => each.seconds));
  if (!latest.length || !seconds) return [];
  const left = (run.state.updates - made) * seconds;
  const tokens = mean(latest.map(each => each.tokens)) / seconds;
  return [`${whole.format(tokens)} positions a second`, left > 0 ? `about ${duration(left)} left` : "all updates are made"];
}

function lastNews() {
  const times = run.events.map(each => Date.parse(each.time)).filter(Number.isFinite);
  if (!times.length) return "";
  const seconds = Math.max(0, (Date.now() - times.at(-1)) / 1000);
  return seconds < LATE ? "" : `no news for ${duration(seconds)}: it is over, rests, or is slow`;
}

function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} minutes` : `${(minutes / 60).toFixed(1)} hours`;
}

const mean = values => values.reduce((sum, each) => sum + each, 0) / values.length;

function showCurves() {
  const made = updates(), checked = validations();
  const leading = Object.keys(checked.at(-1)?.scores ?? {})[0];
  const points = (events, value) => events.map(each => [each.step, value(each)]).filter(([, y]) => Number.isFinite(y));
  find("curves").replaceChildren(...[
    curve("Loss", [["training", points(made, each => each.loss)], ["held-out", points(checked, each => each.loss)]]),
    leading && curve(leading, [["held-out", points(checked, each => each.scores[leading])]]),
    curve("Gradient norm", [["gradient", points(made, each => each.gradient_norm)]], { logarithmic: true }),
    curve("Learning rate", [["rate", points(made, each => each.rate)]]),
  ].filter(Boolean));
}

function thin(points) {
  const every = Math.ceil(points.length / MOST_POINTS);
  return points.filter((_, place) => place % every === 0 || place === points.length - 1);
}

function curve(title, series, { logarithmic = false } = {}) {
  const scaled = series.map(([name, points]) => [name, thin(logarithmic ? points.filter(([, y]) => y > 0) : points)]);
  const all = scaled.flatMap(([, points]) => points);
  const figure = element("figure", "", { class: "curve" });
  const caption = element("figcaption");
  caption.append(element("b", title));
  if (!all.length) {
    caption.append(element("span", "not yet"));
    figure.append(caption);
    return figure;
  }
  const value = y => (logarithmic ? Math.log10(y) : y);
  const bounds = list => [Math.min(...list), Math.max(...list)];
  const [x0, x1] = bounds(all.map(([x]) => x)), [low, high] = bounds(all.map(([, y]) => value(y)));
  const x = at => LEFT + (x1 > x0 ? (at - x0) / (x1 - x0) : 0.5) * (WIDTH - LEFT - 6);
  const y = at => TOP + (high > low ? (high - value(at)) / (high - low) : 0.5) * (HEIGHT - TOP - BOTTOM);
  const told = scaled.filter(([, points]) => points.length).map(([name, points]) => `${name} ${number.format(points.at(-1)[1])}`);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${told.join(", ")} at update ${x1}` });
  picture.append(
    svg("line", { class: "axis", x1: LEFT, y1: HEIGHT - BOTTOM, x2: WIDTH, y2: HEIGHT - BOTTOM }),
    svg("line", { class: "axis", x1: LEFT, y1: TOP, x2: LEFT, y2: HEIGHT - BOTTOM }),
    svg("text", { x: LEFT - 4, y: TOP + 8, "text-anchor": "end" }, number.format(logarithmic ? 10 ** high : high)),
    svg("text", { x: LEFT - 4, y: HEIGHT - BOTTOM, "text-anchor": "end" }, number.format(logarithmic ? 10 ** low : low)),
    svg("text", { x: LEFT, y: HEIGHT - 4 }, whole.format(x0)),
    svg("text", { x: WIDTH, y: HEIGHT - 4, "text-anchor": "end" }, whole.format(x1)),
  );
  scaled.forEach(([name, points], place) => {
    const kind = place === 0 ? "first" : "second";
    picture.append(svg("polyline", { class: kind, points: points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ") }));
    if (points.length) caption.append(element("span", `${name} ${number.format(points.at(-1)[1])}`, { class: `key ${kind}` }));
  });
  figure.append(caption, picture);
  return figure;
}

function showSamples() {
  const told = validations().filter(each => each.samples?.length), slider = find("sampled");
  const follows = Number(slider.value) === Number(slider.max);
  slider.max = Math.max(0, told.length - 1);
  if (follows) slider.value = slider.max;
  slider.hidden = told.length < 2;
  find("sampled-label").hidden = told.length === 0;
  if (!told.length) return;
  const chosen = told[Number(slider.value)];
  find("sampled-at").textContent = whole.format(chosen.step);
  find("samples").replaceChildren(...chosen.samples.map(each => {
    const row = document.createElement("div"), right = each.output === each.reference;
    row.append(element("dt", each.source, { dir: "auto" }));
    row.append(element("dd", each.output || "(nothing)", { dir: "auto", class: right ? "output right" : "output" }));
    row.append(element("dd", right ? "as in the data" : `should be: ${each.reference}`, { dir: "auto", class: "wanted" }));
    return row;
  }));
}

async function showInsight() {
  const saved = run.state.steps.at(-1);
  if (saved !== undefined && !run.insights.has(saved)) {
    run.insights.set(saved, null);
    try {
      run.insights.set(saved, await ask(`/v1/steps/${saved}`));
    } catch (error) {
      run.insights.delete(saved);
      find("inside-input").textContent = error.message;
      return;
    }
  }
  const known = [...run.insights].filter(([, each]) => each), slider = find("seen");
  const follows = Number(slider.value) === Number(slider.max);
  slider.max = Math.max(0, known.length - 1);
  if (follows) slider.value = slider.max;
  slider.hidden = find("seen-label").hidden = known.length < 2;
  if (!known.length) return;
  const [step, insight] = known[Number(slider.value)];
  find("seen-at").textContent = whole.format(step);
  if (run.shown === step) return;
  run.shown = step;
  find("inside-input").textContent = insight.source ? `A held-out input: ${insight.source}` : "No held-out input is short enough to be shown.";
  find("pictures").replaceChildren(...Array.from({ length: insight.pictures }, (_, place) =>
    element("img", "", { src: `/v1/steps/${step}/${place}.svg`, alt: `What the model attends to after update ${step}` })));
  find("gates").replaceChildren(...(insight.gates.length ? [gateTable(insight.gates)] : []));
}

function gateTable(units) {
  const table = document.createElement("table");
  table.createCaption().className = "hidden";
  table.caption.textContent = "Gates of the recurrent units: means, and shares of units that are mostly open or closed";
  const head = table.createTHead().insertRow();
  for (const name of ["unit", "gate", "mean", "mostly open", "mostly closed"]) head.append(element("th", name, { scope: "col" }));
  for (const unit of units) {
    for (const gate of unit.gates) {
      const row = table.insertRow();
      row.append(element("td", `${unit.side} ${unit.layer}${unit.direction === "backward" ? ", backward" : ""}`), element("td", gate.name));
      const mean = element("td"), meter = element("meter", "", { min: 0, max: 1, value: gate.mean, "aria-label": `mean of ${gate.name}` });
      mean.append(meter, ` ${gate.mean.toFixed(2)}`);
      row.append(mean, element("td", `${Math.round(100 * gate.open)} %`), element("td", `${Math.round(100 * gate.closed)} %`));
    }
  }
  return table;
}

async function request(action) {
  const headers = { "content-type": "application/json", "x-seqloom-key": key };
  const answer = await fetch("/v1/request", { method: "POST", headers, body: JSON.stringify({ action }) });
  const done = action === "save" ? "It will be saved before the next update." : "It saves and stops before the next update.";
  find("told").textContent = answer.ok ? done : (await answer.json()).detail;
}

async function follow() {
  try {
    await refresh();
    document.body.dataset.state = "shown";
  } catch (error) {
    find("figures").textContent = `No answer from the page's own process: ${error.message}`;
  }
  setTimeout(follow, EVERY);
}

find("controls").hidden = key === "";
find("save").addEventListener("click", () => request("save"));
find("stop").addEventListener("click", () => request("stop"));
find("sampled").addEventListener("input", showSamples);
find("seen").addEventListener("input", () => showInsight());
follow();
