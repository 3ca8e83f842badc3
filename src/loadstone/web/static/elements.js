// Elements are made, never parsed: what a server or a user has written stays text.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

export function show(shown, ...children) {
  shown.replaceChildren(...children.flat());
}

// Columns: [heading, number?, value of a row]. A value may be an element.
export function table(shown, columns, rows) {
  const kind = (isNumber) => (isNumber ? "number" : null);
  const head = element("tr", {}, columns.map(([title, isNumber]) =>
    element("th", { scope: "col", class: kind(isNumber) }, title)));
  const body = rows.map((row) => element("tr", {}, columns.map(([, isNumber, value]) =>
    element("td", { class: kind(isNumber) }, value(row)))));
  show(shown, element("thead", {}, head), element("tbody", {}, body));
}
