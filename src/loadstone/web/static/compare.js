// Two runs beside each other: what differs first, then each level.

import { byId, element, show, table } from "./elements.js";
import { number, percent, t } from "./words.js";

let asked = 0;

export async function showComparison([a, b], charts) {
  const place = byId("comparison");
  const mine = ++asked;
  show(place, element("p", { class: "quiet" }, t("reading both runs")));
  const query = new URLSearchParams({ a, b });
  let found;
  try {
    const response = await fetch(`/api/compare?${query}`);
    found = await response.json();
    if (!response.ok) throw new Error(found.error);
  } catch (error) {
    if (mine === asked) show(place, element("p", { class: "problem", role: "alert" }, error.message));
    return;
  }
  if (mine !== asked) return;
  const rows = element("table");
  show(place,
    element("h2", {}, t("{b} against {a}", { a, b })),
    element("p", { class: "quiet" }, t("Runs that were made apart differ in more than was meant: an experiment measures both by turns.")),
    element("h3", {}, t("What differs")),
    differences(found.differs),
    element("h3", {}, t("Levels")),
    element("div", { class: "figure tall", id: "compared-ladders", role: "img" }),
    element("div", { class: "scrolls", tabindex: "0" }, rows));
  table(rows, columns(), found.rows);
  charts.draw("compared-ladders", found.ladder, "Events a second of both runs at each level.");
}

function differences(differs) {
  if (!differs.length) return element("p", {}, t("Nothing that is known."));
  const unfair = differs.some((one) => one.unfair);
  const shown = element("table");
  table(shown, [
    [t("what"), false, (one) => one.unfair ? element("strong", { class: "bad" }, one.what) : one.what],
    ["A", false, (one) => one.a ?? "-"],
    ["B", false, (one) => one.b ?? "-"],
  ], differs);
  return element("div", {},
    unfair ? element("p", { class: "problem" }, t("Unfair: they do not lose as much in a crash.")) : null,
    element("div", { class: "scrolls", tabindex: "0" }, shown));
}

function columns() {
  const rate = (side) => side === null ? "-"
    : `${number(side.tps)}${side.half_width === null ? "" : ` ± ${number(side.half_width)}`}`;
  return [
    [t("level"), false, (row) => [row.variant === "default" ? null : row.variant, row.workload,
      t("{users} users", { users: number(row.users) }), row.rate].filter(Boolean).join(", ")],
    [t("TPS of {run}", { run: "A" }), true, (row) => rate(row.a)],
    [t("TPS of {run}", { run: "B" }), true, (row) => rate(row.b)],
    [t("change"), true, (row) => row.change === null ? "-" : `${row.change > 0 ? "+" : ""}${percent(row.change)}`],
    [t("p99 of {run}, ms", { run: "A" }), true, (row) => number(row.a?.p99_ms)],
    [t("p99 of {run}, ms", { run: "B" }), true, (row) => number(row.b?.p99_ms)],
    [t("may be said"), false, (row) => row.word === null ? "-" : t(row.word)],
  ];
}
