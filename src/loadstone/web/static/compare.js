// Comparison of runs with the first of them: first the differences, then each level (document: docs/comparing.md).

import { byId, element, show, table } from "./elements.js";
import {
  bracketed, chosenLanguage, hear, listed, named, number, pair, percent, speech, spoken, t, users,
} from "./words.js";

// Tables have letters for the runs, whose names are long.
const NAMES = ["A", "B", "C", "D", "E", "F", "G", "H"];

let asked = 0;

export const MOST = NAMES.length;

export async function showComparison(names, charts) {
  const place = byId("comparison");
  const mine = ++asked;
  show(place, element("p", { class: "quiet" }, t("reading the runs")));
  const query = new URLSearchParams(names.map((name) => ["run", name]));
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
    element("h2", {}, names.length === 2 ? t("{b} against {a}", { a: names[0], b: names[1] })
      : t("{number} runs against {first}", { number: number(names.length - 1), first: names[0] })),
    element("p", { class: "quiet" }, names.map((name, at) => [at ? element("br") : null, `${NAMES[at]} ${name}`]).flat()),
    element("p", {}, element("code", {}, found.command)),
    element("p", {}, element("a", { href: `/compare?${query}&lang=${chosenLanguage()}`, target: "_blank", rel: "noopener" },
      t("Open the whole comparison"))),
    found.interleaved ? null : element("p", { class: "quiet" },
      t("Separate runs differ in more than was intended: an experiment measures both in turns.")),
    element("h3", {}, t("What differs")),
    differences(found, names),
    element("h3", {}, t("Levels")),
    isShared ? element("div", { class: "figure tall", id: "compared-ladders", role: "img" })
      : element("p", {}, t("No level was measured with the same workload in several of these runs: their rates cannot be compared.")),
    element("div", { class: "scrolls", tabindex: "0" }, levels),
    found.levels.some(({ sides }) => sides.some(({ tps }) => tps === null))
      ? element("p", { class: "quiet" },
        t("* counts in no mean: it did not finish, never settled, lost users, or was held back")) : null);
  table(levels, columns(names), found.levels);
  if (isShared) charts.draw("compared-ladders", found.ladder, "Events a second of each run at each level.");
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

function columns(names) {
  const of = (level, side) => level.sides.find((one) => one.side === side);
  const rate = (level, side) => {
    const found = of(level, side);
    if (!found) return "-";
    if (found.tps === null) return `${number(found.figures.tps)} *`;
    const ends = found.tps_interval;
    return ends ? `${number(found.tps)} (${number(ends.low)} .. ${number(ends.high)})` : number(found.tps);
  };
  // Of each side but the first, if it was measured; of two, the column needs no letter.
  const against = (level, side) => level.against_first.find((one) => one.side === side);
  const change = (level, side) => against(level, side)?.changes.tps?.relative ?? null;
  const others = names.slice(1);
  const named = (text, at) => (others.length === 1 ? text : `${text} ${NAMES[at + 1]}`);
  return [
    [t("level"), false, (level) => listed([level.context, level.workload, users(level.concurrency),
      level.rate ? t("{rate} events/s due", { rate: due(level.rate) }) : null])],
    ...names.map((name, at) => [t("TPS of {run}", { run: NAMES[at] }), true, (level) => rate(level, name)]),
    ...others.map((name, at) => [named(t("change"), at), true, (level) => change(level, name) === null ? "-"
      : `${change(level, name) > 0 ? "+" : ""}${percent(change(level, name))}`]),
    ...names.map((name, at) => [t("p99 of {run}, ms", { run: NAMES[at] }), true, (level) => number(of(level, name)?.figures.p99)]),
    ...others.map((name, at) => [named(t("result"), at), false, (level) => against(level, name) ? element("div", { class: "verdict" }, said(against(level, name))) : "-"]),
  ];
}

// A constant rate, or one that goes from one value to another.
function due({ rate, to }) {
  return to === null ? number(rate) : `${number(rate)} .. ${number(to)}`;
}

function said({ said: sentence }) {
  return spoken(sentence);
}
