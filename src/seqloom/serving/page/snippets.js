// What is on the screen, as a command or a program that asks for the same.

const PLACE = "FILE-CONTENT";
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// A value as Python writes it: JSON's strings and numbers are Python's, its other words are not.
export function python(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

export function asCurl(asked, file, needsToken) {
  const token = needsToken ? ' -H "Authorization: Bearer $SEQLOOM_TOKEN"' : "";
  const head = `curl -s -g -H 'Content-Type: application/json'${token} ${quoted(`${location.origin}/v1/predict`)} -d`;
  if (file === null) return `${head} ${quoted(JSON.stringify(asked))}`;
  const body = quoted(JSON.stringify({ ...asked, inputs: [{ base64: PLACE }] }));
  return `${head} @- <<< ${body.replace(PLACE, () => `'"$(base64 -w0 ${quoted(file)})"'`)}`;
}

export function asPython(asked, file, needsToken) {
  const { inputs, ...options } = asked;
  const lines = [];
  if (needsToken) lines.push("import os");
  if (file !== null) lines.push("from pathlib import Path");
  if (lines.length) lines.push("");
  const token = needsToken ? ', token=os.environ["SEQLOOM_TOKEN"]' : "";
  const sent = file === null ? python(inputs) : `[Path(${JSON.stringify(file)})]`;
  const named = Object.entries(options).map(([name, value]) => `, ${name}=${python(value)}`).join("");
  return [...lines, "import seqloom", "", `client = seqloom.Client(${JSON.stringify(location.origin)}${token})`,
    `print(client.predict(${sent}${named})[0].text)`].join("\n");
}
