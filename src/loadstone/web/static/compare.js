// Comparison of two runs: first the differences, then each level (document: docs/comparing.md).

import { byId, element, show, table } from "./elements.js";
import {
  bracketed, chosenLanguage, hear, listed, named, number, pair, percent, speech, spoken, t, users,
} from "./words.js";

// Tables have letters for the runs, whose names are long.
const NAMES = ["A", "B"];

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
    hear(found.told);
    if (!response.ok) throw new Error(spoken(found.error));
  } catch (error) {
    if (mine === asked) show(place, element("p", { class: "problem", role: "alert" }, error.message));
    return;
  }
  if (mine !== asked) return;
  const levels = element("table");
  // Points of different work in one picture would look as if they could be compared.
  const isShared = found.levels.some(({ sides }) => sides.length > 1);
  show(place,
    element("h2", {}, t("{b} against {a}", { a, b })),
    element("p", { class: "quiet" }, `A ${a}`, element("br"), `B ${b}`),
    element("p", {}, element("a", { href: `/compare?${query}&lang=${chosenLanguage()}`, target: "_blank", rel: "noopener" },
      t("Open the whole comparison"))),
    found.interleaved ? null : element("p", { class: "quiet" },
      t("Separate runs differ in more than was intended: an experiment measures both in turns.")),
    element("h3", {}, t("What differs")),
    differences(found, [a, b]),
    element("h3", {}, t("Levels")),
    isShared ? element("div", { class: "figure tall", id: "compared-ladders", role: "img" })
      : element("p", {}, t("No level was measured with the same workload in both runs: their rates cannot be compared.")),
    element("div", { class: "scrolls", tabindex: "0" }, levels),
    found.levels.some(({ sides }) => sides.some(({ tps }) => tps === null))
      ? element("p", { class: "quiet" },
        t("* counts in no mean: it did not finish, never settled, lost users, or was held back")) : null);
  table(levels, columns(a, b), found.levels);
  if (isShared) charts.draw("compared-ladders", found.ladder, "Events a second of both runs at each level.");
}

function differences({ differences: differs, not_evaluated: unknown }, sides) {
  const shown = element("table");
  table(shown, [
    [t("effect"), false, (one) => element(one.weight === "unfair" ? "strong" : "span",
      { class: one.weight === "unfair" ? "line bad" : "line quiet" }, named("weights", one.weight))],
    [t("what"), false, (one) => [
      element("span", { class: "line" }, named("difference_groups", one.group)), element("br"), element("code", {}, one.name)]],
    ...sides.map((side, at) => [NAMES[at], false, (one) =>
      element("span", { class: "value" }, one.values[side] ?? "-")]),
    ...(differs.some((one) => one.performance || one.durability) ? [[t("what it means"), false, (one) =>
      [one.performance, one.durability].filter(Boolean).map((said) => speech("div", said))]] : []),
  ], differs);
  const missing = Object.keys(unknown);
  return element("div", {},
    differs.some((one) => one.weight === "unfair")
      ? element("p", { class: "problem" }, t("Unfair: because of the marked differences the figures cannot be compared.")) : null,
    differs.length ? element("div", { class: "scrolls", tabindex: "0" }, shown)
      : element("p", {}, t("No difference was found.")),
    missing.length ? element("p", { class: "quiet" },
      t("not evaluated: {causes}", { causes: listed(missing.map(spoken)) })) : null);
}

function columns(a, b) {
  const of = (level, side) => level.sides.find((one) => one.side === side);
  const rate = (level, side) => {
    const found = of(level, side);
    if (!found) return "-";
    if (found.tps === null) return `${number(found.figures.tps)} *`;
    const ends = found.tps_interval;
    return ends ? `${number(found.tps)} (${number(ends.low)} .. ${number(ends.high)})` : number(found.tps);
  };
  // Of two sides, one is compared with the first, or none if one was not measured.
  const against = (level) => level.against_first[0];
  const change = (level) => against(level)?.changes.tps?.relative ?? null;
  return [
    [t("level"), false, (level) => listed([level.context, level.workload, users(level.concurrency),
      level.rate ? t("{rate} events/s due", { rate: due(level.rate) }) : null])],
    [t("TPS of {run}", { run: NAMES[0] }), true, (level) => rate(level, a)],
    [t("TPS of {run}", { run: NAMES[1] }), true, (level) => rate(level, b)],
    [t("change"), true, (level) => change(level) === null ? "-"
      : `${change(level) > 0 ? "+" : ""}${percent(change(level))}`],
    [t("p99 of {run}, ms", { run: NAMES[0] }), true, (level) => number(of(level, a)?.figures.p99)],
    [t("p99 of {run}, ms", { run: NAMES[1] }), true, (level) => number(of(level, b)?.figures.p99)],
    [t("result"), false, (level) => against(level) ? said(against(level)) : "-"],
  ];
}

// A constant rate, or one that goes from one value to another.
function due({ rate, to }) {
  return to === null ? number(rate) : `${number(rate)} .. ${number(to)}`;
}

function said({ said: sentence }) {
  return spoken(sentence);
}
