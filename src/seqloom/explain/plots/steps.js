'use strict';
const data = JSON.parse(document.getElementById('steps').textContent);
const view = document.getElementById('view');
let at = 0;
function make(parent, name, text, kind) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  parent.appendChild(node);
  return node;
}
function bars(title, rows) {
  make(view, 'h2', title);
  const table = make(view, 'table');
  for (const [name, value, most] of rows) {
    const row = make(table, 'tr');
    make(row, 'td', name).dir = 'auto';
    make(row, 'td', value.toFixed(3), 'number');
    const track = make(make(row, 'td'), 'div', undefined, 'track');
    make(track, 'div', undefined, 'bar').style.width = 100 * Math.min(1, value / most) + '%';
  }
}
function show() {
  const step = data.steps[at];
  view.replaceChildren();
  const buttons = make(view, 'p');
  for (const [text, move] of [['←', -1], ['→', 1]]) {
    const button = make(buttons, 'button', text);
    button.ariaLabel = move < 0 ? 'Step back' : 'Step on';
    button.onclick = () => go(at + move);
    buttons.append(' ');
  }
  make(buttons, 'span', 'step ' + (at + 1) + ' of ' + data.steps.length + ': reads ').id = 'place';
  const read = [...(step.read ? [step.read] : []), ...step.beside].join(' and ');
  make(buttons, 'strong', read || 'nothing but its state');
  buttons.append(', ' + data.verb + ' ');
  make(buttons, 'strong', step.wrote).id = 'wrote';
  const source = make(view, 'div', undefined, 'line source');
  data.source.forEach((symbol, i) => {
    const weight = step.attention ? step.attention[i] : 0;
    const node = make(source, 'span', symbol);
    node.style.background = `rgb(var(--heat) / ${0.45 * weight})`;
    node.title = weight.toFixed(3);
  });
  const output = make(view, 'div', undefined, 'line output');
  data.steps.forEach((each, i) => {
    const kind = i === at ? 'now' : i < at ? 'done' : '';
    make(output, 'span', each.wrote, kind).onclick = () => go(i);
  });
  const best = step.best.map(b => [b.text, Math.exp(b.log_probability), 1]);
  if (best.length) bars('Likeliest', best);
  const most = Math.max(...data.steps.flatMap(s => s.layers.map(l => l.norm)), 1e-9);
  if (step.layers.length) bars('Size of the state', step.layers.map(l => [l.place, l.norm, most]));
  const gates = step.layers.flatMap(
    l => Object.entries(l.gates).map(([name, value]) => [l.place + ', ' + name, value, 1]));
  if (gates.length) bars('Gates, on average', gates);
}
function go(to) {
  at = Math.max(0, Math.min(data.steps.length - 1, to));
  show();
}
document.addEventListener('keydown', event => {
  const moves = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: data.steps.length - 1};
  if (event.key in moves) { go(moves[event.key]); event.preventDefault(); }
});
show();
