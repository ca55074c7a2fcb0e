// The server's API: plain answers, and streams of server-sent events.

export class Away extends Error {}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Away("The server does not answer.");
  }
  if (!response.ok) {
    let sentence = `status ${response.status}`;
    try { sentence = (await response.json()).detail; } catch { /* it was not ours */ }
    throw response.status === 502 ? new Away(sentence) : new Error(sentence);
  }
  return response;
}

const posted = (body, signal) => ({
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
});

export const listing = async () => (await ask("/v1/models")).json();
export const searches = async () => (await ask("/v1/searches")).json();
export const ready = async () => (await ask("/ready")).json();
export const predict = async (body, signal) => (await ask("/v1/predict", posted(body, signal))).json();

export const score = async (body, signal) => (await ask("/v1/score", posted(body, signal))).json();
export const look = async (body, signal) => (await ask("/v1/look", posted(body, signal))).json();

export async function stream(body, signal, heard) {
  const response = await ask("/v1/stream", posted(body, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Away("The server went away.");
    }
    if (part.done) return;
    rest += part.value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const [kind, data] = event.split("\n");
      heard(kind.slice("event: ".length), JSON.parse(data.slice("data: ".length)));
    }
  }
}
