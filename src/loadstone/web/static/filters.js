// Which of the runs are listed, followed in a trend, and offered: by name, workload, target and label.

import { byId, element, show } from "./elements.js";

const NAMES = ["name", "workload", "target", "label"];

export function chosen() {
  const entries = NAMES.map((name) => [name, byId(`filter-${name}`).value.trim()]);
  return Object.fromEntries(entries.filter(([, value]) => value));
}

export function choose(filters) {
  for (const name of NAMES) byId(`filter-${name}`).value = filters[name] ?? "";
}

// The filters in an address: `trend&workload=oltp_read_write`.
export function filtersIn(query) {
  return Object.fromEntries(NAMES.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
}

// The same rule as that of `loadstone runs list`: the text is in one of the run's, in any case.
export function selected(runs) {
  const wanted = Object.entries(chosen()).map(([name, value]) => [name, value.toLowerCase()]);
  return runs.filter((run) => wanted.every(([name, value]) =>
    textsOf(run)[name].some((text) => text.toLowerCase().includes(value))));
}

function textsOf(run) {
  return {
    name: [run.name, run.title ?? ""], workload: [run.workload ?? ""], target: run.targets ?? [], label: run.labels ?? [],
  };
}

// Values to choose from, of all runs.
export function offerFilters(runs) {
  for (const name of NAMES) {
    const known = [...new Set(runs.flatMap((run) => name === "name" ? [run.title] : textsOf(run)[name]))].filter(Boolean).sort();
    show(byId(`filter-${name}-known`), known.map((value) => element("option", { value })));
  }
}

export function onFilters(changed) {
  for (const name of NAMES) byId(`filter-${name}`).addEventListener("input", changed);
}
