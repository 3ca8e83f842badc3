// The list of runs, of which some can be picked to be compared, and all be drawn as a trend.

import { MOST } from "./compare.js";
import { byId, element, renew } from "./elements.js";
import { chosen, offerFilters, onFilters, selected } from "./filters.js";
import { hear, listed, named, number, spoken, t, users } from "./words.js";

const picked = new Set();
// The runs, the name of the one that is shown and its state, and whether a person may compare.
let given = { runs: [], shown: null, state: "", mayCompare: true };

export function onList() {
  onFilters(() => showList({}));
  byId("compare").addEventListener("click", () => {
    // By the order of the list, newer runs are compared with the oldest one.
    const names = given.runs.map((run) => run.name).filter((name) => picked.has(name)).reverse();
    window.location.hash = `compare=${names.map(encodeURIComponent).join("/")}`;
  });
  byId("trend-of").addEventListener("click", () => {
    window.location.hash = new URLSearchParams({ trend: "", ...chosen() }).toString();
  });
}

export function showList(changed) {
  given = { ...given, ...changed };
  const { runs, shown, mayCompare } = given;
  for (const { told } of runs) hear(told);
  byId("no-runs").hidden = runs.length > 0;
  const found = selected(runs);
  byId("filters").hidden = !mayCompare;
  byId("filtered").hidden = found.length === runs.length;
  byId("filtered").textContent = t("{number} of {all} runs", { number: number(found.length), all: number(runs.length) });
  byId("trend-of").disabled = found.length < 2;
  offerFilters(runs);
  renew(byId("runs"), found.map((run) => {
    const key = `run=${encodeURIComponent(run.name)}`;
    const now = stateOf(run);
    const said = listed([
      named("states", now), run.workload,
      best(run),
      ...(run.labels ?? []),
      run.problem ? spoken(run.problem) : null,
    ]);
    const box = element("input", {
      type: "checkbox", "data-key": `pick-${run.name}`, checked: picked.has(run.name),
      "aria-label": t("pick {name} to compare", { name: run.name }),
      onchange: (event) => pick(run.name, event.target.checked),
    });
    const link = element("a", {
      href: `#${key}`, "data-key": key, "aria-current": run.name === shown ? "true" : null,
    }, element("strong", {}, run.name), element("span", { class: `quiet state ${now}` }, said));
    return element("li", { class: run.name === shown ? "chosen" : null }, box, link);
  }));
  offerComparison();
}

// The list is read once a second: of the run that is shown, its own stream knows it first.
function stateOf(run) {
  return (run.name === given.shown && given.state) || run.state;
}

// The answer of a search, else the highest rate.
function best(run) {
  const { objective, objective_rate: rate, objective_judged: judged } = run;
  if (objective && !judged) return t("{objective}: no verdict", { objective });
  if (objective && !rate) return t("{objective} at no rate that was tried", { objective });
  if (objective) return t("{objective} up to {rate} events/s", { objective, rate: number(rate) });
  if (run.at_peak) return t("peak from {users}: {tps} tps", { tps: number(run.best_tps), users: users(run.best_users) });
  return run.best_tps ? t("{tps} tps at {users}", { tps: number(run.best_tps), users: users(run.best_users) }) : null;
}

function pick(name, isPicked) {
  if (isPicked) picked.add(name);
  else picked.delete(name);
  offerComparison();
}

function offerComparison() {
  byId("compare").disabled = picked.size < 2 || picked.size > MOST;
}
