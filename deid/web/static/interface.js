// The description of the interface, shown and tried. Every text goes in as text, never as markup.

const make = (name, said = {}, ...inside) => {
  const one = Object.assign(document.createElement(name), said);
  one.append(...inside);
  return one;
};

/** What a schema looks like, as lines of an example with the types in place of values. */
const shape = (schema, all, depth = 0) => {
  if (!schema || depth > 8) return "…";
  if (schema.$ref) return shape(all[schema.$ref.split("/").pop()], all, depth);
  if (schema.anyOf) return schema.anyOf.map((one) => shape(one, all, depth)).join("\n" + "  ".repeat(depth) + "or ");
  const indent = "  ".repeat(depth + 1);
  if (schema.type === "array") return `[${shape(schema.items, all, depth)}, …]`;
  if (schema.type === "object") {
    const must = new Set(schema.required);
    const lines = Object.entries(schema.properties ?? {}).map(([name, one]) =>
      `${indent}"${name}": ${shape(one, all, depth + 1)}${must.has(name) ? "" : "  (may be missing)"}`);
    return lines.length ? `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}` : "{}";
  }
  const kind = [schema.type ?? "any"].flat().join(" or ");
  return schema.description ? `${kind}: ${schema.description}` : kind;
};

const contents = (title, content, all) => {
  const kinds = Object.entries(content ?? {});
  return kinds.length ? [make("h3", { textContent: title }), ...kinds.map(([kind, one]) =>
    make("details", {}, make("summary", {}, make("code", { textContent: kind })),
      make("pre", { textContent: shape(one.schema, all) })))] : [];
};

/** A form that sends a request, and shows what is answered. */
const trial = (method, path, said) => {
  const kinds = Object.keys(said.requestBody?.content ?? {});
  const kind = make("select", { ariaLabel: "Type of the body" }, ...kinds.map((one) => make("option", { textContent: one })));
  const body = make("textarea", { ariaLabel: "Body", spellcheck: false });
  const places = (said.parameters ?? []).map((one) => make("input", { ariaLabel: one.name, placeholder: one.name, name: one.name }));
  const send = make("button", { type: "submit", textContent: "Send" });
  const status = make("p", { role: "status" });
  const answer = make("pre", { hidden: true });
  const form = make("form", {}, ...places, ...(kinds.length ? [kind, body] : []), send, status, answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const token = document.getElementById("token").value.trim();
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    if (kinds.length) headers["Content-Type"] = kind.value;
    const to = places.reduce((so_far, one) => so_far.replace(`{${one.name}}`, encodeURIComponent(one.value)), path);
    send.disabled = true;
    try {
      const response = await fetch(to, { method, headers, body: kinds.length ? body.value : undefined });
      status.textContent = `${response.status} ${response.headers.get("content-type") ?? ""}`;
      answer.textContent = await response.text();
    } catch {
      status.textContent = "no answer";
      answer.textContent = "";
    }
    answer.hidden = !answer.textContent;
    send.disabled = false;
  });
  return make("details", { className: "trial" }, make("summary", { textContent: "Try it" }), form);
};

const main = document.getElementById("operations");
try {
  const told = await (await fetch("/openapi.json")).json();
  const all = told.components?.schemas ?? {};
  document.getElementById("version").textContent = told.info.version;
  document.getElementById("entry").hidden = !told.components?.securitySchemes;
  const parts = Object.entries(told.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, said]) => {
    const answers = Object.entries(said.responses).flatMap(([status, one]) =>
      contents(status === "default" ? "Any other status" : `Answer ${status}`, one.content, all));
    const head = make("h2", {}, make("code", { textContent: method.toUpperCase() }), " ", make("code", { textContent: path }));
    const about = make("p", { textContent: said.description ?? said.summary });
    return make("section", { id: said.operationId }, head, about, ...contents("Body", said.requestBody?.content, all),
      ...answers, trial(method.toUpperCase(), path, said));
  }));
  main.replaceChildren(...parts);
} catch {
  document.getElementById("state").textContent = "The description could not be loaded.";
}
main.setAttribute("aria-busy", "false");
