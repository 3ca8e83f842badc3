// Elements are created, never parsed from HTML, so text from a server or a user stays text.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...shownOf(children));
  return made;
}

// Strings become text nodes; null, undefined and false are left out.
function shownOf(children) {
  return children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

export function byId(id) {
  return document.getElementById(id);
}

export function show(shown, ...children) {
  shown.replaceChildren(...shownOf(children));
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
