// What a model reads: a text, turns, a label, a picture, a recording or a table.

import { element } from "./elements.js";
import { fitThread, newest, turns } from "./thread.js";
import { canRecord, decoded, play, recording, spectrogram, wav } from "./sound.js";

const at = (id) => document.getElementById(id);
const MOST_BYTES = 1_500_000; // of a picture that is sent as it is
const LONG_SIDE = 1024; // of one that is not
const MOST_SECONDS = 30;
const SENT = { picture: /^image\/(png|jpeg|gif|webp|bmp)$/, sound: /wav|flac|ogg/ };
const TITLES = { none: "Beginning of the text", turns: "Your next line", label: "Label", vector: "Numbers, set apart by spaces",
  picture: "Picture", sound: "Recording", series: "Table with a header, as CSV" };

const files = { picture: null, sound: null }; // { name, base64, bitmap or samples }
let reads = { kind: "text" };
let limits = {};
let recorder = null;
let told = () => {};
let changed = () => {};

export function begin(tell, change) {
  told = tell;
  changed = change;
  at("picture").addEventListener("change", () => at("picture").files[0] && take(at("picture").files[0]));
  at("sound").addEventListener("change", () => at("sound").files[0] && take(at("sound").files[0]));
  at("table-file").addEventListener("change", () => at("table-file").files[0] && take(at("table-file").files[0]));
  at("record").addEventListener("click", record);
  at("listen").addEventListener("click", () => play(files.sound.samples, reads.rate));
  const card = at("ask");
  card.addEventListener("dragover", (event) => { event.preventDefault(); card.classList.add("over"); });
  card.addEventListener("dragleave", () => card.classList.remove("over"));
  card.addEventListener("drop", (event) => {
    event.preventDefault();
    card.classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (file) take(file);
  });
  document.addEventListener("paste", (event) => {
    const file = event.clipboardData?.files[0];
    if (file && reads.kind in files) { event.preventDefault(); take(file); }
  });
}

export function fit({ source, target, search }, bounds) {
  reads = source;
  limits = bounds;
  const kind = document.querySelector(`[data-reads="${CSS.escape(source.kind)}"]`) ? source.kind : "text";
  for (const panel of document.querySelectorAll("[data-reads]")) panel.hidden = panel.dataset.reads !== kind;
  const title = source.kind === "columns" ? `A line for each column: ${source.columns.join(", ")}` : "Input";
  at("source-label").textContent = TITLES[source.kind] ?? title;
  at("source-label").htmlFor = { text: "source", turns: "line", label: "choice", series: "table" }[kind] ?? kind;
  const listed = source.kind === "label" && source.labels;
  at("choice").replaceChildren(...(listed || []).map((name) => element("option", { value: name, textContent: name })));
  if (source.kind === "label" && !listed) {
    for (const panel of document.querySelectorAll("[data-reads]")) panel.hidden = panel.dataset.reads !== "text";
  }
  at("source").placeholder = target.marker ? `Type a text with ${target.marker} where a ${target.unit} is missing`
    : "Type something the model has learnt to read";
  fitThread(Boolean(search));
  at("record").hidden = !canRecord();
  if (source.kind === "series") {
    at("table").placeholder = `time,${source.columns.join(",")}\n2026-01-05 00:00,…\n(${source.steps} rows or more; or drop a CSV file here)`;
  }
  shown();
}

function shown() {
  const { picture, sound } = files;
  at("seen").hidden = reads.kind !== "picture" || !picture;
  at("heard").hidden = at("listen").hidden = reads.kind !== "sound" || !sound;
  at("drop-picture").textContent = picture ? picture.name : "Drop, paste or choose a picture";
  at("drop-sound").textContent = sound ? `${sound.name} · ${(sound.samples.length / sound.rate).toFixed(1)} s`
    : "Drop or choose a recording";
  if (reads.kind === "picture" && picture) fitted(at("seen"));
  if (reads.kind === "sound" && sound) spectrogram(sound.samples, at("heard"));
}

export function fitted(canvas, scale = 1) {
  const { bitmap } = files.picture;
  [canvas.width, canvas.height] = [reads.width * scale, reads.height * scale];
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const size = Math.min(canvas.width / bitmap.width, canvas.height / bitmap.height);
  const [width, height] = [bitmap.width * size, bitmap.height * size];
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
  return canvas;
}

export const heard = () => at("heard");
export const seconds = () => files.sound.samples.length / files.sound.rate;

async function take(file) {
  try {
    if (reads.kind === "picture") await takePicture(file);
    else if (reads.kind === "sound") await takeSound(await file.arrayBuffer(), file.name, file.type);
    else { (reads.kind === "series" ? at("table") : at("source")).value = await file.text(); }
  } catch { told(`${file.name} cannot be read as a ${reads.kind}.`, true); return; }
  shown();
  changed();
}

async function takePicture(file) {
  const bitmap = await createImageBitmap(file);
  let sent = file;
  if (file.size > MOST_BYTES || !SENT.picture.test(file.type)) {
    const size = Math.min(1, LONG_SIDE / Math.max(bitmap.width, bitmap.height));
    const canvas = new OffscreenCanvas(Math.max(1, bitmap.width * size), Math.max(1, bitmap.height * size));
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    sent = await canvas.convertToBlob({ type: "image/png" });
  }
  files.picture = { name: file.name || "picture", bitmap, base64: coded(await sent.arrayBuffer()) };
}

async function takeSound(bytes, name, type) {
  const samples = await decoded(bytes, reads.rate);
  const same = SENT.sound.test(type) && bytes.byteLength < MOST_BYTES;
  files.sound = { name, samples, rate: reads.rate, base64: coded(same ? bytes : wav(samples, reads.rate)) };
}

async function record() {
  if (recorder) { recorder.stop(); return; }
  try {
    recorder = await recording(Math.min(MOST_SECONDS, limits.recording ?? MOST_SECONDS));
  } catch { told("The microphone cannot be used.", true); return; }
  at("record").textContent = "Stop recording";
  at("record").setAttribute("aria-pressed", "true");
  told("Recording …");
  try {
    await takeSound(await recorder.done, "your recording", "");
    shown();
    changed();
  } catch { told("Nothing was recorded.", true); } finally {
    recorder = null;
    at("record").textContent = "Record";
    at("record").setAttribute("aria-pressed", "false");
  }
}

function coded(bytes) {
  const part = 0x8000;
  let text = "";
  const all = new Uint8Array(bytes);
  for (let start = 0; start < all.length; start += part) {
    text += String.fromCharCode(...all.subarray(start, start + part));
  }
  return btoa(text);
}

export function columns() {
  const lines = at("table").value.trim().split(/\r?\n/);
  const mark = ["\t", ";", ","].find((each) => lines[0].includes(each)) ?? ",";
  const rows = lines.filter((line) => line.trim()).map((line) => line.split(mark).map((cell) => cell.trim()));
  const names = rows.shift() ?? [];
  const value = (cell) => (cell === "" || cell === undefined ? null : Number.isFinite(Number(cell)) ? Number(cell) : cell);
  return Object.fromEntries(names.map((name, place) => [name, rows.map((row) => value(row[place]))]));
}

// The inverse of `columns`.
function csv(series) {
  const names = Object.keys(series);
  const mark = names.some((name) => /[,;]/.test(name)) ? "\t" : ",";
  const rows = series[names[0]].map((_, row) => names.map((name) => series[name][row] ?? "").join(mark));
  return [names.join(mark), ...rows].join("\n");
}

export function isThere() {
  if (reads.kind in files) return Boolean(files[reads.kind]);
  if (reads.kind === "series") return Boolean(at("table").value.trim());
  if (reads.kind === "turns") return turns().length > 0;
  if (reads.kind === "columns") return text().split("\n").length === reads.columns.length && Boolean(text().trim());
  return reads.kind === "none" || Boolean(text().trim());
}

const text = () => (reads.kind === "label" && reads.labels ? at("choice").value : at("source").value);

// The input as a line of text, for a list.
export const plainText = () => (reads.kind === "series" ? at("table").value : reads.kind === "turns" ? turns().at(-1) ?? "" : text());
export const isTyped = () => !(reads.kind in files) && !["series", "turns", "none"].includes(reads.kind)
  && !(reads.kind === "label" && reads.labels);

// Gives the model an input in the form that a request has it in.
export async function fill(input) {
  if (typeof input === "string") {
    (reads.kind === "label" && reads.labels ? at("choice") : at("source")).value = input;
  } else if (Array.isArray(input) && reads.kind === "columns") {
    at("source").value = input.join("\n");
  } else if (Array.isArray(input)) {
    at("turns").value = JSON.stringify(input);
  } else if (input.series) {
    at("table").value = csv(input.series);
  } else if (input.base64) {
    const bytes = Uint8Array.from(atob(input.base64), (letter) => letter.charCodeAt(0));
    if (reads.kind === "picture") await takePicture(new File([bytes], input.name ?? "example.png", { type: "image/png" }));
    else await takeSound(bytes.buffer, input.name ?? "example.wav", "audio/wav");
    shown();
  }
}

export function given() {
  if (reads.kind in files) return { base64: files[reads.kind]?.base64 ?? "" };
  if (reads.kind === "series") {
    const steps = Number(at("steps").value);
    return { series: columns(), ...(steps ? { steps } : {}) };
  }
  if (reads.kind === "columns") return text().split("\n");
  return reads.kind === "turns" ? newest(limits.characters) : text();
}

// The file that is read, where it is small enough for a link.
export function smallFile(most) {
  const own = files[reads.kind];
  return own && own.base64.length <= most ? { name: own.name, base64: own.base64 } : null;
}

export const fileName = () => (reads.kind in files ? files[reads.kind]?.name ?? "FILE" : null);
