// Recordings: decoding, recording, WAV files and spectrograms. Nothing leaves the page here.

const POINTS = 512;
const MOST_COLUMNS = 900;
const HOP_SHARE = 4; // of a window, from one column to the next at the closest
const FLOOR = -9; // of the logarithm of power, against the loudest

export async function decoded(bytes, rate) {
  const context = new OfflineAudioContext(1, 1, rate);
  const sound = await context.decodeAudioData(bytes.slice(0));
  const mono = new Float32Array(sound.length);
  for (let channel = 0; channel < sound.numberOfChannels; channel += 1) {
    sound.getChannelData(channel).forEach((value, place) => { mono[place] += value / sound.numberOfChannels; });
  }
  return mono;
}

export function wav(samples, rate) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const word = (place, text) => [...text].forEach((letter, number) => view.setUint8(place + number, letter.charCodeAt(0)));
  word(0, "RIFF"); view.setUint32(4, 36 + 2 * samples.length, true); word(8, "WAVEfmt ");
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
  view.setUint32(24, rate, true); view.setUint32(28, 2 * rate, true); view.setUint16(32, 2, true);
  view.setUint16(34, 16, true); word(36, "data"); view.setUint32(40, 2 * samples.length, true);
  samples.forEach((value, place) => {
    view.setInt16(44 + 2 * place, Math.round(32767 * Math.max(-1, Math.min(1, value))), true);
  });
  return view.buffer;
}

function transformed(real, imaginary) {
  const size = real.length;
  for (let place = 1, other = 0; place < size; place += 1) {
    let bit = size >> 1;
    for (; other & bit; bit >>= 1) other ^= bit;
    other ^= bit;
    if (place < other) {
      [real[place], real[other]] = [real[other], real[place]];
      [imaginary[place], imaginary[other]] = [imaginary[other], imaginary[place]];
    }
  }
  for (let length = 2; length <= size; length <<= 1) {
    const angle = (-2 * Math.PI) / length;
    for (let start = 0; start < size; start += length) {
      for (let k = 0; k < length / 2; k += 1) {
        const [c, s] = [Math.cos(angle * k), Math.sin(angle * k)];
        const [a, b] = [start + k, start + k + length / 2];
        const re = real[b] * c - imaginary[b] * s;
        const im = real[b] * s + imaginary[b] * c;
        [real[b], imaginary[b]] = [real[a] - re, imaginary[a] - im];
        [real[a], imaginary[a]] = [real[a] + re, imaginary[a] + im];
      }
    }
  }
}

const SHADES = [[12, 8, 38], [86, 16, 110], [187, 55, 84], [249, 142, 9], [252, 255, 164]];

function shade(share) {
  const place = Math.max(0, Math.min(0.9999, share)) * (SHADES.length - 1);
  const [below, above] = [SHADES[Math.floor(place)], SHADES[Math.floor(place) + 1]];
  return below.map((value, channel) => value + (above[channel] - value) * (place % 1));
}

export function spectrogram(samples, canvas) {
  const hop = Math.max(POINTS / HOP_SHARE, Math.ceil(samples.length / MOST_COLUMNS));
  const columns = Math.max(1, Math.ceil(samples.length / hop));
  const rows = POINTS / 2;
  const power = [];
  let loudest = -Infinity;
  for (let column = 0; column < columns; column += 1) {
    const [real, imaginary] = [new Float64Array(POINTS), new Float64Array(POINTS)];
    for (let n = 0; n < POINTS; n += 1) {
      real[n] = (samples[column * hop + n] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * n) / POINTS));
    }
    transformed(real, imaginary);
    const found = Array.from({ length: rows }, (_, k) => Math.log10(real[k] ** 2 + imaginary[k] ** 2 + 1e-12));
    loudest = Math.max(loudest, ...found);
    power.push(found);
  }
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  power.forEach((found, column) => found.forEach((value, k) => {
    const [red, green, blue] = shade(1 - (value - loudest) / FLOOR);
    pixels.data.set([red, green, blue, 255], 4 * ((rows - 1 - k) * columns + column));
  }));
  context.putImageData(pixels, 0, 0);
}

export const canRecord = () => Boolean(navigator.mediaDevices?.getUserMedia && globalThis.MediaRecorder);

export async function recording(seconds) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const parts = [];
  recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
  const done = new Promise((resolve) => {
    recorder.addEventListener("stop", async () => {
      for (const track of stream.getTracks()) track.stop();
      resolve(await new Blob(parts).arrayBuffer());
    });
  });
  recorder.start();
  const timer = setTimeout(() => recorder.state === "recording" && recorder.stop(), 1000 * seconds);
  return { stop: () => { clearTimeout(timer); if (recorder.state === "recording") recorder.stop(); }, done };
}

export function play(samples, rate) {
  const context = new AudioContext();
  const buffer = context.createBuffer(1, samples.length, rate);
  buffer.copyToChannel(samples, 0);
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.addEventListener("ended", () => context.close());
  source.start();
}
