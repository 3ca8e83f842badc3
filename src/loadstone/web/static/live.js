// The page: shows one stream of events from the server as they arrive.

import { forgetActs, onActs, showCommands } from "./acts.js";
import { beginInOtherWords, onBegin, showBegin, whoAmI } from "./begin.js";
import { Charts } from "./charts.js";
import { showComparison } from "./compare.js";
import { byId, element, show } from "./elements.js";
import { choose, filtersIn } from "./filters.js";
import { findingsOf } from "./findings.js";
import { Heat } from "./heat.js";
import { onList, showList } from "./list.js";
import { askForProof, onProof, proofInOtherWords, showProof } from "./prove.js";
import { fresh, isWatched, runState } from "./state.js";
import { showRows, showStep } from "./step.js";
import { EVENTS, streamOf } from "./streams.js";
import { applyTheme, chooseTheme, chosenTheme } from "./theme.js";
import { showTrend, trendInOtherWords } from "./trend.js";
import {
  applyWords, chooseLanguage, chosenLanguage, hear, moment, named, pair, speech, spoken, t,
} from "./words.js";

const GONE_MS = 2000;

const charts = new Charts();
const heat = new Heat(charts);
let runs = [];
let preparing = [];
let source = null;
let shown = null;
let state = null;
let studied = null; // the comparison or the trend that is shown
let me = { name: "", may_run: false, may_steer: false, only: null };
let begins = false; // whether the form to begin with is shown
let proves = null; // the name of the run whose proof is asked for
let missing = null; // the name of a run that was asked for and is not there
let judged = ""; // the findings that are shown
let accountIsNarrow = false; // the form in which the account is drawn

// The cookie has expired or belongs to another server: opening the link in another tab restores this one too, as it
// keeps trying. Or there is no such run: then another is shown.
async function tellWhy(mine, run) {
  const path = run === null ? "/static/icon.svg" : `/api/runs/${encodeURIComponent(run)}`;
  const answer = await fetch(path, { method: "HEAD" }).catch(() => null);
  if (mine !== source) return;
  if (answer?.status === 401) say(t("The server needs its link again: open the one that it printed."));
  if (answer?.status === 404 && me.only === null) missing = run;
}

// The run to show: the one in the address, else the newest running one, else the newest.
function wanted() {
  if (me.only !== null) return { run: me.only };
  const asked = new URLSearchParams(window.location.hash.slice(1));
  if (asked.has("begin") && me.may_run) return { begin: true };
  if (asked.get("prove")) return { run: asked.get("prove"), prove: me.may_run };
  if (asked.get("compare")) return { compare: asked.get("compare").split("/") };
  if (asked.has("trend")) return { trend: filtersIn(asked) };
  if (asked.get("run") && asked.get("run") !== missing) return { run: asked.get("run") };
  const going = runs.find((run) => run.state === "running") ?? runs[0];
  return { run: going ? going.name : null };
}

function follow() {
  const { run, compare, trend, begin, prove } = wanted();
  const key = compare || trend ? JSON.stringify({ compare, trend }) : null;
  if (key !== studied) {
    studied = key;
    if (compare) showComparison(compare, charts);
    if (trend) choose(trend);
    if (trend) showTrend(trend, charts);
  }
  byId("begin").hidden = !begin;
  if (begin && !begins) showBegin();
  begins = Boolean(begin);
  byId("comparison").hidden = !compare;
  byId("trend").hidden = !trend;
  byId("run").hidden = !run;
  byId("empty").hidden = Boolean(studied) || Boolean(run) || Boolean(begin);
  if (!run) document.title = "Loadstone";
  const next = run ?? null;
  if (source === null || next !== shown) connect(next);
  if (prove && proves !== run) askForProof(run);
  proves = prove ? run : null;
  showRuns();
}

function connect(run) {
  source?.close();
  if (run !== shown) {
    forgetActs();
    if (!studied) charts.clear();
    state = fresh();
  }
  shown = run;
  const { source: mine, events } = streamOf(run);
  source = mine;
  mine.onopen = () => say(missing === null ? "" : t("There is no run {name} here.", { name: missing }));
  mine.onerror = () => {
    say(t("The server does not answer; trying again."));
    // Browsers do not reconnect by themselves after an error response.
    if (mine.readyState === EventSource.CLOSED) {
      tellWhy(mine, run);
      setTimeout(() => { if (mine === source) connect(wanted().run ?? null); }, GONE_MS);
    }
  };
  const take = ({ type, data }) => {
    if (mine === source) TAKERS[type](JSON.parse(data));
  };
  for (const name of EVENTS) mine.addEventListener(name, take);
  events.forEach(take);
}

const TAKERS = {
  runs: takeRuns,
  snapshot: takeSnapshot,
  run: (data) => { state.run = data; showHead(); if (state.ladder) { showLadder(); showEmpty(); } },
  step: takeStep,
  second: takeSecond,
  seen: (data) => { charts.add(data.points); charts.refresh(); showEmpty(); },
  row: takeRow,
  note: (data) => { hear(data.told); state.notes.push(data.text); showNotes(); },
  extras: takeExtras,
};

function say(text) {
  byId("link").textContent = text;
}

// Runs

function showRuns() {
  showList({ runs, shown, state: runState(state), mayCompare: me.only === null });
}

function takeRuns(data) {
  runs = data.runs;
  preparing = data.preparing ?? [];
  follow();
  showPreparing();
}

// What a command does before its run has a folder.
function showPreparing() {
  for (const { told } of preparing) hear(told);
  byId("preparing").hidden = preparing.length === 0;
  show(byId("preparing"), preparing.map(({ said }) => element("p", {},
    element("strong", {}, pair(t("A run is being prepared"), "")), speech("span", said))));
  byId("no-runs").hidden = runs.length > 0 || preparing.length > 0;
  byId("empty").hidden = Boolean(studied) || Boolean(begins) || Boolean(wanted().run) || preparing.length > 0;
}

// One run

function takeExtras(data) {
  for (const { told } of [data, ...(data.findings ?? [])]) hear(told);
  const isSame = JSON.stringify(data.account) === JSON.stringify(state.extras.account);
  state.extras = data;
  showExtras();
  if (!isSame) showAccount();
}

function takeSnapshot(data) {
  hear(data.told);
  state = { ...state, ...data, extras: state.extras };
  const grid = byId("timelines");
  charts.clear();
  show(grid,
    Object.entries(data.timelines).map(([name, { title }]) => section(title, `empty-${name}`, `timeline-${name}`)),
    section(data.heat.title, "empty-heat", "heat", "wide"));
  showAll();
}

function section(title, empty, figure, shape = null) {
  return element("section", { class: shape }, element("h4", {}, t(title)),
    element("p", { class: "quiet empty", id: empty, hidden: true }),
    element("div", { class: "figure", id: figure, role: "img" }));
}

function showAll() {
  // Drawn at its size first, also where nothing will be seen of it.
  byId("timelines").classList.remove("over");
  for (const [name, { option, about }] of Object.entries(state.timelines)) {
    charts.draw(`timeline-${name}`, option, about);
  }
  heat.draw(state.heat);
  showEmpty();
  showLadder();
  showAccount();
  showHead();
  showStep(state, me.may_steer);
  showRows(state);
  showNotes();
  showExtras();
}

// Sent when the step starts, when all users are connected, and when the step is changed by hand.
function showEmpty() {
  const figures = Object.keys(state.timelines).map((name) => [name, `timeline-${name}`]);
  if (state.heat) figures.push(["heat", "heat"]);
  const isOver = !["", "running"].includes(runState(state));
  byId("timelines").classList.toggle("over", isOver);
  for (const [name, figure] of figures) {
    const isEmpty = !charts.hasPoints(figure);
    byId(`empty-${name}`).hidden = !isEmpty;
    byId(figure).classList.toggle("void", isEmpty);
    if (isEmpty) byId(`empty-${name}`).textContent = whyEmpty(name);
  }
}

function whyEmpty(name) {
  if (name === "network" && (state.step ?? state.run)?.by_socket) {
    return t("The load comes by unix socket: no network carries it.");
  }
  return runState(state) === "running" ? t("No figures so far.") : t("No figures were recorded.");
}

function takeStep(data) {
  if (data?.number !== state.step?.number) state.second = {};
  state.step = data;
  showStep(state, me.may_steer);
  showCommands(steered);
  showEmpty();
}

function takeSecond(data) {
  state.second = data.second;
  charts.add(data.points);
  heat.add(data.heat);
  if (state.step && data.second.phase === "window") {
    if (!byId("ladder").clientWidth) showLadder();
    const at = state.run?.by_rate ? state.step.rate_now : state.step.users_now;
    charts.put("ladder", "now", [[at, data.second.tps]]);
  }
  charts.refresh();
  showEmpty();
  showStep(state, me.may_steer);
}

function takeRow(data) {
  hear(data.told);
  state.rows = [...state.rows.filter((row) => row.step !== data.row.step), data.row];
  state.ladder = data.ladder;
  state.account = data.account;
  state.extras.account = null;
  state.step = null;
  state.second = {};
  showLadder();
  showAccount();
  showStep(state, me.may_steer);
  showRows(state);
}

function showAccount() {
  const account = state.extras.account ?? state.account;
  byId("accounted").hidden = !account;
  byId("account-now").hidden = !state.extras.account;
  if (!account) {
    charts.drop("account");
    return;
  }
  const { option, about, height_px: height, narrow } = account;
  accountIsNarrow = isNarrowFor(account);
  byId("account").style.height = `${accountIsNarrow ? narrow.height_px : height}px`;
  charts.draw("account", accountIsNarrow ? { ...option, ...narrow.option } : option, about);
}

// While it is hidden nobody knows how wide it will be.
function isNarrowFor({ narrow }) {
  const width = byId("account").clientWidth;
  return Boolean(narrow) && width > 0 && width < narrow.below_px;
}

function fitAccount() {
  const account = state.extras.account ?? state.account;
  if (account && byId("account").clientWidth && isNarrowFor(account) !== accountIsNarrow) showAccount();
}

function showLadder() {
  const now = {
    id: "now", name: t("this second"), type: "scatter", symbol: "diamond", symbolSize: 12, data: [],
  };
  const isDriven = runState(state) === "running" || state.step !== null;
  // Until there is a point, the text below says when there will be one.
  const isEmpty = isWatched(state) || (state.rows.length === 0 && state.second.phase !== "window");
  byId("ladder").hidden = isEmpty;
  if (isEmpty) {
    charts.drop("ladder");
    return;
  }
  const option = { ...state.ladder, series: [...state.ladder.series, ...(isDriven ? [now] : [])] };
  charts.draw("ladder", option, "Events a second at each level that was measured, and in this second.");
}

function showHead() {
  if (!state.run) return;
  byId("run-name").textContent = state.run.name;
  document.title = `${state.run.name} · Loadstone`;
  const now = runState(state);
  const isNew = byId("state").className !== `state ${now}`;
  byId("state").className = `state ${now}`;
  byId("state").textContent = now ? named("states", now) : "";
  const servers = state.run.targets.map((target, at) =>
    [target, state.run.server_versions[at]].filter(Boolean).join(" "));
  const began = state.run.unix_s && moment(1000 * state.run.unix_s);
  const about = [began, state.run.workload, ...servers, state.run.loadstone && `Loadstone ${state.run.loadstone}`];
  show(byId("about"), about.filter(Boolean).join(" · "), " ",
    ...(now && now !== "running" ? [reportLink(), " ", exportLink()] : []));
  showActsOfRun(now);
  if (isNew) showRuns();
}

// What may be done with the run that is shown.
function showActsOfRun(now) {
  byId("run-acts").hidden = me.only !== null;
  byId("prove").hidden = !(me.may_run && now === "finished");
}

// An address of its own, which asks for the list of what a proof would do.
function prove() {
  proves = null;
  const address = `#prove=${encodeURIComponent(shown)}`;
  if (window.location.hash === address) follow();
  else window.location.hash = address;
}

function reportLink() {
  const href = `/runs/${encodeURIComponent(state.run.name)}/report?lang=${chosenLanguage()}`;
  return element("a", { href, target: "_blank", rel: "noopener" }, t("Open the report"));
}

function exportLink() {
  const href = `/runs/${encodeURIComponent(state.run.name)}/result.json`;
  return element("a", { href, download: `${state.run.name}.json` }, t("Export as JSON"));
}

function showNotes() {
  const ofSteps = state.rows.flatMap((row) => row.notes.map((note) =>
    element("li", {}, pair(t("step {number}", { number: row.step }), ""), speech("span", note))));
  const ofRun = [...new Set(state.notes)].map((note) => speech("li", note));
  show(byId("notes"), ofRun, ofSteps);
}

function showExtras() {
  showHead();
  showEmpty();
  showStep(state, me.may_steer);
  if (state.run) showProof(state.run.name, state.extras, me);
  const problem = state.extras.problem;
  byId("problem").hidden = !problem;
  byId("problem").textContent = problem ? spoken(problem) : "";
  const ladders = state.extras.findings;
  const isUnderWay = Boolean(state.extras.alive && state.step);
  const now = JSON.stringify([state.run?.name, chosenLanguage(), ladders, isUnderWay]);
  if (now === judged) return; // evidence that is open stays so
  judged = now;
  show(byId("findings"), ladders === null
    ? element("p", { class: "quiet" }, t("Findings appear when a step has ended, or has been measured for half a minute."))
    : [isUnderWay ? element("p", { class: "quiet" }, t("A step is under way: its findings may still change.")) : null,
      ...ladders.map((one) => findingsOf(one, ladders.length > 1))]);
}

// The run and the step that a change is asked of.
function steered() {
  return { run: shown, step: state.step?.number };
}

// Language, colours, and the address

function onSwitches() {
  const language = byId("language");
  language.value = chosenLanguage();
  language.addEventListener("change", () => {
    chooseLanguage(language.value);
    applyWords();
    const { compare, trend } = wanted();
    if (compare) showComparison(compare, charts);
    else if (trend) trendInOtherWords(trend, charts);
    else if (state?.run) {
      takeSnapshot({ ...state, heat: { ...state.heat, columns: heat.columns } });
    }
    showRuns();
    showPreparing();
    beginInOtherWords();
    proofInOtherWords();
    showCommands(steered);
  });
  const theme = byId("theme");
  theme.value = chosenTheme();
  theme.addEventListener("change", () => chooseTheme(theme.value));
}

applyTheme();
applyWords();
onSwitches();
onList();
onActs(steered);
byId("prove").addEventListener("click", prove);
onBegin();
onProof();
state = fresh();
new ResizeObserver(fitAccount).observe(byId("account"));
window.addEventListener("hashchange", () => {
  missing = null;
  follow();
});
// A run's figures may come before the list of all runs and before who is looking, which decide what else is shown.
const early = wanted().run;
if (early) {
  byId("run").hidden = Boolean(wanted().prove);
  connect(early);
}
me = await whoAmI();
byId("begin-link").hidden = !me.may_run;
byId("compare").hidden = me.only !== null;
byId("trend-of").hidden = me.only !== null;
// Where the address does not say what is shown, the list does.
const { run, begin, compare, trend } = wanted();
if (run || begin || compare || trend) follow();
else connect(null);
if (state.run) showExtras();
