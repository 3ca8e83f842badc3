// Many runs over time: the peak, and rate and response times of a level, with their changes of level marked.

import { byId, element, show, table } from "./elements.js";
import { hear, listed, moment, number, pair, speech, spoken, t } from "./words.js";

let asked = 0;
let found = null;
let level = null; // the one that was chosen last

export async function showTrend(filters, charts) {
  const place = byId("trend");
  const mine = ++asked;
  found = null;
  show(place, element("p", { class: "quiet" }, t("reading the runs")));
  try {
    const response = await fetch(`/api/trend?${new URLSearchParams(filters)}`);
    const answer = await response.json();
    hear(answer.told);
    if (!response.ok) throw new Error(spoken(answer.error));
    if (mine !== asked) return;
    found = answer;
    draw(filters, charts);
  } catch (error) {
    if (mine === asked) show(place, element("p", { class: "problem", role: "alert" }, error.message));
  }
}

export function trendInOtherWords(filters, charts) {
  if (found) draw(filters, charts);
  else showTrend(filters, charts);
}

const key = (one) => `${one.name}: ${one.level}`;

function draw(filters, charts) {
  const { levels } = found;
  const rows = element("table");
  show(byId("trend"),
    element("h2", { tabindex: "-1", id: "trend-title" }, t("Trend of {number} runs", { number: number(found.runs) })),
    element("p", { class: "quiet" }, listed(Object.values(filters)) || t("all runs")),
    element("p", {}, element("code", {}, found.command)),
    found.left_out.length ? element("p", { class: "problem" }, t("cannot be read: {runs}", { runs: listed(found.left_out) })) : null,
    levels.length ? [
      element("div", { class: "field" }, element("label", { for: "trend-level" }, t("level")),
        element("select", { id: "trend-level", class: "long", onchange: (event) => { level = event.target.value; drawLevel(charts); } },
          levels.map((one) => element("option", { value: key(one) }, pair(one.name, spoken(one.level)))))),
      element("div", { id: "trend-figures", class: "grid" }),
      element("div", { id: "trend-changes" }),
      element("h3", {}, t("All levels")),
      element("div", { class: "scrolls", tabindex: "0" }, rows),
    ] : element("p", {}, t("No level was measured by two of these runs.")));
  if (!levels.length) return;
  table(rows, columns(), everySeries(levels));
  byId("trend-level").value = levels.some((one) => key(one) === level) ? level : key(usual(levels));
  drawLevel(charts);
}

// The highest of the levels that the most runs have.
function usual(levels) {
  const most = Math.max(...levels.map((one) => runsOf(one)));
  return levels.findLast((one) => runsOf(one) === most);
}

function runsOf({ series }) {
  return Math.max(...series.map(({ points }) => points));
}

// The peak belongs to several levels, and is listed once.
function everySeries(levels) {
  const found = new Map();
  for (const one of levels) {
    for (const series of one.series) found.set([one.name, series.where, series.metric].join("\n"), { ...series, name: one.name });
  }
  return [...found.values()];
}

function drawLevel(charts) {
  const one = found.levels.find((each) => key(each) === byId("trend-level").value);
  const figures = [["trend-rates", t("Rates"), one.rates], ["trend-response", t("Response time"), one.response]]
    .filter(([, , figure]) => figure);
  show(byId("trend-figures"), figures.map(([id, title]) => element("section", {},
    element("h3", {}, title), element("div", { class: "figure", id, role: "img" }))));
  for (const [id, , { option, about }] of figures) {
    const data = option.xAxis.data.map(at);
    charts.draw(id, { ...option, xAxis: { ...option.xAxis, data } }, about);
  }
  const changes = one.series.flatMap((series) => series.changes.map((change) => ({ ...change, series })));
  show(byId("trend-changes"),
    element("h3", {}, t("Changes of level")),
    changes.length ? changes.map(turn) : element("p", {}, t("No change of level was found.")));
}

// A run without a time has its name there.
function at(started) {
  return Number.isNaN(Date.parse(started)) ? started : moment(started);
}

function turn({ series, said, worse, run, before_run: before }) {
  const compare = `#compare=${[before, run].map(encodeURIComponent).join("/")}`;
  return element("article", { class: worse ? "finding validity" : "finding" },
    element("h4", {}, pair(series.metric, spoken(series.where))),
    said.map((text) => speech("p", text)),
    element("p", {}, element("a", { href: `#run=${encodeURIComponent(run)}` }, t("Show this run")), " ",
      element("a", { href: compare }, t("Compare it with the one before"))));
}

function columns() {
  const value = (one, which) => one.kind === "time" ? `${number(one[which])} ms` : `${number(one[which])}/s`;
  return [
    [t("target"), false, (one) => one.name],
    [t("level"), false, (one) => spoken(one.where)],
    [t("metric"), false, (one) => one.metric],
    [t("runs"), true, (one) => number(one.points)],
    [t("first"), true, (one) => value(one, "first")],
    [t("newest"), true, (one) => value(one, "newest")],
    [t("mean of its level"), true, (one) => value(one, "mean")],
    [t("level changes"), true, (one) => number(one.changes.length)],
  ];
}
