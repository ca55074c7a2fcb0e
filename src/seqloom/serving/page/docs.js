// The API's description as a page: routes, what they take and give, and the codes of errors.

import { element } from "./elements.js";

const main = document.querySelector("main");

function named(schema, document) {
  const path = schema?.$ref?.split("/").slice(1);
  return path ? path.reduce((found, name) => found[name], document) : schema ?? {};
}

function kind(schema, document) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((each) => kind(each, document)))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? kind(schema.items, document) : "anything"}`;
  return schema.type ?? "anything";
}

const bounds = ({ minimum, maximum, exclusiveMinimum, default: usual }) => [
  minimum === undefined ? "" : `at least ${minimum}`, exclusiveMinimum === undefined ? "" : `more than ${exclusiveMinimum}`,
  maximum === undefined || maximum >= 2 ** 31 - 1 ? "" : `at most ${maximum}`,
  usual === undefined || usual === null || usual === "" ? "" : `${JSON.stringify(usual)} if absent`].filter(Boolean).join(", ");

function table(schema, document) {
  const needed = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, each]) => element("tr", {},
    element("td", {}, element("code", { textContent: name })),
    element("td", { textContent: kind(each, document) }),
    element("td", { textContent: [each.description, bounds(each), needed.has(name) ? "required" : ""].filter(Boolean).join("; ") })));
  if (!rows.length) return "";
  const head = ["name", "kind", "meaning"].map((text) => element("th", { textContent: text, scope: "col" }));
  return element("div", { className: "view", tabIndex: 0, role: "region", ariaLabel: `Fields of ${schema.title ?? "the object"}` },
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

function part(title, schema, document) {
  const whole = named(schema, document);
  return element("details", {}, element("summary", { textContent: `${title}: ${kind(schema, document)}` }),
    element("p", { className: "facts", textContent: whole.description ?? "" }), table(whole, document));
}

function route(path, method, what, document) {
  const body = what.requestBody?.content?.["application/json"]?.schema;
  const answer = what.responses?.["200"]?.content?.["application/json"]?.schema;
  const [example] = body ? named(body, document).examples ?? [] : [];
  const statuses = Object.entries(what.responses ?? {}).filter(([status]) => status !== "200")
    .map(([status, { description }]) => element("li", { textContent: `${status}: ${description}` }));
  const command = example && `curl -s -H 'Content-Type: application/json' ${location.origin}${path} \\\n  -d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`;
  return element("section", { className: "card" },
    element("h2", {}, element("code", { textContent: `${method.toUpperCase()} ${path}` })),
    element("p", { textContent: what.description ?? what.summary ?? "" }),
    command ? element("pre", { textContent: command, tabIndex: 0 }) : "",
    body ? part("Request", body, document) : "",
    answer?.$ref ? part("Answer", answer, document) : "",
    statuses.length ? element("details", {}, element("summary", { textContent: "Errors" }), element("ul", {}, ...statuses)) : "");
}

function codes(document) {
  const rows = Object.entries(document["x-codes"]).map(([code, meaning]) => element("tr", { id: code },
    element("td", {}, element("code", { textContent: code })), element("td", { textContent: meaning })));
  const head = ["code", "meaning"].map((text) => element("th", { textContent: text, scope: "col" }));
  return element("section", { className: "card" }, element("h2", { textContent: "Codes of errors" }),
    element("p", { textContent: "Errors are problem details (RFC 9457, application/problem+json); the code of a kind of error does not change." }),
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

try {
  const document = await (await fetch("/openapi.json")).json();
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, what]) => route(path, method, what, document)));
  const schemas = Object.entries(document.components.schemas).filter(([, { properties }]) => properties)
    .map(([name, schema]) => element("details", {}, element("summary", { textContent: name }),
      element("p", { className: "facts", textContent: schema.description ?? "" }), table(schema, document)));
  main.replaceChildren(...routes, element("section", { className: "card" }, element("h2", { textContent: "Objects" }), ...schemas), codes(document));
  if (location.hash) window.document.getElementById(location.hash.slice(1))?.scrollIntoView();
} catch {
  main.replaceChildren(element("p", { role: "alert", textContent: "The server does not answer; reload the page when it does." }));
}
