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

// The same for what is made anew while somebody reads it: the keyboard focus and how far it was scrolled stay, of
// elements with a key.
export function renew(shown, ...children) {
  const focused = document.activeElement?.getAttribute("data-key");
  const scrolled = [...shown.querySelectorAll("[data-key]")].filter((one) => one.scrollTop > 0)
    .map((one) => [one.dataset.key, one.scrollTop]);
  show(shown, ...children);
  const keyed = (key) => shown.querySelector(`[data-key="${CSS.escape(key)}"]`);
  for (const [key, top] of scrolled) keyed(key)?.scrollTo(0, top);
  if (focused) keyed(focused)?.focus({ preventScroll: true });
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
