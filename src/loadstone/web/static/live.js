// The page: shows one stream of events from the server as they arrive.

import { post } from "./asking.js";
import { beginInOtherWords, onBegin, showBegin, whoAmI } from "./begin.js";
import { Charts } from "./charts.js";
import { MOST, showComparison } from "./compare.js";
import { byId, element, show, table } from "./elements.js";
import { choose, chosen, filtersIn, offerFilters, onFilters, selected } from "./filters.js";
import { Heat } from "./heat.js";
import { askForProof, onProof, proofInOtherWords, showProof } from "./prove.js";
import { applyTheme, chooseTheme, chosenTheme } from "./theme.js";
import { showTrend, trendInOtherWords } from "./trend.js";
import {
  applyWords, bracketed, chooseLanguage, chosenLanguage, duration, hear, listed, moment, named, number, pair,
  percent, speech, spoken, t, users,
} from "./words.js";

const GONE_MS = 2000;
const SURE_MS = 5000;

const charts = new Charts();
const heat = new Heat(charts);
const picked = new Set();
let runs = [];
let preparing = [];
let source = null;
let shown = null;
let state = null;
let studied = null; // the comparison or the trend that is shown
let me = { name: "", may_run: false, may_steer: false, only: null };
let begins = false; // whether the form to begin with is shown
let proves = null; // the name of the run whose proof is asked for

function fresh() {
  return {
    run: null, step: null, second: {}, rows: [], notes: [],
    extras: { findings: null, alive: null, trial: null, account: null, problem: null }, timelines: {}, account: null, heat: null,
  };
}

// The cookie has expired or belongs to another server. Opening the link in another tab restores
// this one too, as it keeps trying.
async function tellIfLocked(mine) {
  const answer = await fetch("/static/icon.svg", { method: "HEAD" }).catch(() => null);
  if (answer?.status === 401 && mine === source) {
    say(t("The server needs its link again: open the one that it printed."));
  }
}

// The run to show: the one in the address, else the newest running one, else the newest.

function wanted() {
  if (me.only !== null) return { run: me.only };
  const asked = new URLSearchParams(window.location.hash.slice(1));
  if (asked.has("begin") && me.may_run) return { begin: true };
  if (asked.get("prove")) return { run: asked.get("prove"), prove: me.may_run };
  if (asked.get("compare")) return { compare: asked.get("compare").split("/") };
  if (asked.has("trend")) return { trend: filtersIn(asked) };
  if (asked.get("run")) return { run: asked.get("run") };
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
  const next = run ?? null;
  if (source === null || next !== shown) connect(next);
  if (prove && proves !== run) askForProof(run);
  proves = prove ? run : null;
  showRuns();
}

function connect(run) {
  source?.close();
  byId("shared").hidden = true;
  if (run !== shown) {
    if (!studied) charts.clear();
    state = fresh();
  }
  shown = run;
  source = new EventSource(run ? `/api/events?run=${encodeURIComponent(run)}` : "/api/events");
  const mine = source;
  const on = (name, take) => mine.addEventListener(name, (event) => {
    if (mine === source) take(JSON.parse(event.data));
  });
  mine.onopen = () => say("");
  mine.onerror = () => {
    say(t("The server does not answer; trying again."));
    // Browsers do not reconnect by themselves after an error response.
    if (mine.readyState === EventSource.CLOSED) {
      tellIfLocked(mine);
      setTimeout(() => { if (mine === source) connect(wanted().run ?? null); }, GONE_MS);
    }
  };
  on("runs", takeRuns);
  on("snapshot", takeSnapshot);
  on("run", (data) => { state.run = data; showHead(); if (state.ladder) { showLadder(); showEmpty(); } });
  on("step", takeStep);
  on("second", takeSecond);
  on("seen", (data) => { charts.add(data.points); charts.refresh(); showEmpty(); });
  on("row", takeRow);
  on("note", (data) => { hear(data.told); state.notes.push(data.text); showNotes(); });
  on("extras", takeExtras);
}

function say(text) {
  byId("link").textContent = text;
}

// Runs

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

// The answer of a search, else the highest rate.
function best(run) {
  const { objective, objective_rate: rate, objective_judged: judged } = run;
  if (objective && !judged) return t("{objective}: no verdict", { objective });
  if (objective && !rate) return t("{objective} at no rate that was tried", { objective });
  if (objective) return t("{objective} up to {rate} events/s", { objective, rate: number(rate) });
  if (run.at_peak) return t("peak from {users}: {tps} tps", { tps: number(run.best_tps), users: users(run.best_users) });
  return run.best_tps ? t("{tps} tps at {users}", { tps: number(run.best_tps), users: users(run.best_users) }) : null;
}

function showRuns() {
  for (const { told } of runs) hear(told);
  byId("no-runs").hidden = runs.length > 0;
  const list = byId("runs");
  const focused = document.activeElement?.getAttribute("data-key");
  const found = selected(runs);
  byId("filters").hidden = me.only !== null;
  byId("filtered").hidden = found.length === runs.length;
  byId("filtered").textContent = t("{number} of {all} runs", { number: number(found.length), all: number(runs.length) });
  byId("trend-of").disabled = found.length < 2;
  offerFilters(runs);
  show(list, found.map((run) => {
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
  // The list is rebuilt, but the keyboard focus stays where it was.
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  byId("compare").disabled = !mayCompare();
}

function mayCompare() {
  return picked.size >= 2 && picked.size <= MOST;
}

// The list is read once a second: of the run that is shown, its own stream knows it first.
function stateOf(run) {
  return (run.name === shown && runState()) || run.state;
}

function pick(name, isPicked) {
  if (isPicked) picked.add(name);
  else picked.delete(name);
  byId("compare").disabled = !mayCompare();
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
  showStep();
  showRows();
  showNotes();
  showExtras();
}

// Sent when the step starts, when all users are connected, and when the step is changed by hand.
function showEmpty() {
  const figures = Object.keys(state.timelines).map((name) => [name, `timeline-${name}`]);
  if (state.heat) figures.push(["heat", "heat"]);
  const isOver = !["", "running"].includes(runState());
  byId("timelines").classList.toggle("over", isOver);
  for (const [name, figure] of figures) {
    const isEmpty = !charts.hasPoints(figure);
    byId(`empty-${name}`).hidden = !isEmpty;
    byId(figure).classList.toggle("void", isEmpty);
    if (isEmpty) byId(`empty-${name}`).textContent = whyEmpty(name);
    if (isEmpty && isOver) charts.drop(figure);
  }
}

function whyEmpty(name) {
  if (name === "network" && (state.step ?? state.run)?.by_socket) {
    return t("The load comes by unix socket: no network carries it.");
  }
  return runState() === "running" ? t("No figures so far.") : t("No figures were recorded.");
}

function takeStep(data) {
  if (data?.number !== state.step?.number) state.second = {};
  state.step = data;
  showStep();
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
  showStep();
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
  showStep();
  showRows();
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
  const place = byId("account");
  const isNarrow = narrow && place.clientWidth < narrow.below_px;
  place.style.height = `${isNarrow ? narrow.height_px : height}px`;
  charts.draw("account", isNarrow ? { ...option, ...narrow.option } : option, about);
}

function showLadder() {
  const now = {
    id: "now", name: t("this second"), type: "scatter", symbol: "diamond", symbolSize: 12, data: [],
  };
  const isDriven = runState() === "running" || state.step !== null;
  // Until there is a point, the text below says when there will be one.
  const isEmpty = isWatched() || (state.rows.length === 0 && state.second.phase !== "window");
  byId("ladder").hidden = isEmpty;
  if (isEmpty) {
    charts.drop("ladder");
    return;
  }
  const option = { ...state.ladder, series: [...state.ladder.series, ...(isDriven ? [now] : [])] };
  charts.draw("ladder", option, "Events a second at each level that was measured, and in this second.");
}

// Whether a server is only watched, under a load that is not ours: it has no users and no events of ours.
function isWatched() {
  return state.run?.workload === "watch";
}

function runState() {
  if (state.run?.ended) return state.run.ended;
  if (state.extras.alive === null) return "";
  return state.extras.alive ? "running" : "interrupted";
}

function showHead() {
  if (!state.run) return;
  byId("run-name").textContent = state.run.name;
  document.title = `${state.run.name} · Loadstone`;
  const now = runState();
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

async function share() {
  const place = byId("shared");
  place.hidden = false;
  try {
    const { token } = await post(`/api/runs/${encodeURIComponent(shown)}/share`, {});
    const link = `${window.location.origin}/?token=${encodeURIComponent(token)}#run=${encodeURIComponent(shown)}`;
    show(place, t("Who has this link can read this run, and nothing else:"), " ", element("code", {}, link));
  } catch (error) {
    place.textContent = error.message;
  }
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

function showStep() {
  const step = state.step;
  byId("controls").hidden = runState() !== "running" || !me.may_steer;
  const isDriven = Boolean(step?.connected);
  byId("set-users").hidden = !isDriven || !step.may_change;
  byId("set-rate").hidden = !isDriven || !step.may_change || !step.rate;
  showNumbers();
  showComing();
  showProgress();
  if (!step) {
    byId("step").textContent = t("between two steps");
    return;
  }
  const planned = state.run?.steps_planned;
  const place = planned ? t("step {number} of {planned}", { number: step.number, planned })
    : t("step {number}", { number: step.number });
  const variant = step.variant === "default" ? null : step.variant;
  const due = step.rate ? t("{rate} events/s due", { rate: number(step.rate_now) }) : null;
  const atWork = step.users_now === step.users ? users(step.users)
    : t("{now} active of {users}", { now: number(step.users_now), users: users(step.users) });
  byId("step").textContent = isWatched() ? t("The server is watched, without load of ours.")
    : listed([place, variant, step.workload, atWork, due, step.connected ? null : t("connecting"), timeLeft()]);
  byId("users").max = step.users;
  fill(byId("users"), step.users_now);
  if (step.rate) fill(byId("rate"), step.rate_now);
}

// Of the warm-up or of the window; `null` if no time limits it, or the load is not there yet.
function timeLeft() {
  const { phase, at_s: at } = state.second;
  const { warmup_s: warmup, duration_s: lasts } = state.run ?? {};
  const end = { warmup, window: lasts && lasts + warmup }[phase];
  if (!end || at === undefined) return null;
  const values = { time: duration(Math.max(0, end - at)) };
  return phase === "warmup" ? t("warm-up, {time} left", values) : t("measuring, {time} left", values);
}

// Of all planned steps, without the time in which users connect; `null` where the plan does not say.
function wholeLeft() {
  const { warmup_s: warmup, duration_s: lasts, steps_planned: planned } = state.run ?? {};
  if (!planned || !lasts || warmup === null) return null;
  const whole = planned * (lasts + warmup);
  const spent = state.rows.length * (lasts + warmup) + Math.min(state.second.at_s ?? 0, lasts + warmup);
  return { whole, spent: Math.min(spent, whole) };
}

function showProgress() {
  const found = runState() === "running" ? wholeLeft() : null;
  byId("progress").hidden = !found;
  if (!found) return;
  byId("progress-bar").max = found.whole;
  byId("progress-bar").value = found.spent;
  byId("progress-left").textContent = t("about {time} left of the whole", { time: duration(found.whole - found.spent) });
}

// In place of a table without rows.
function showComing() {
  const isEmpty = isWatched() || state.rows.length === 0;
  byId("rows").hidden = isEmpty;
  byId("ladder-wait").hidden = !isEmpty;
  byId("ladder-wait").textContent = isEmpty ? coming() : "";
}

function coming() {
  const step = state.step;
  if (isWatched()) return t("The server is watched, without load of ours.");
  if (runState() !== "running") return t("No step has ended.");
  if (!step) return t("The tables are checked or loaded; then the first step starts.");
  if (!step.connected) return t("The users connect; then the warm-up starts.");
  const values = { step: step.number, users: users(step.users), time: timeLeft() };
  if (!values.time) return t("Step {step} runs with {users}: its figures appear here when it has ended.", values);
  return t("Step {step} runs with {users}: its figures appear here when it has ended ({time}).", values);
}

// A field that the user is editing is left alone.
function fill(input, value) {
  if (document.activeElement !== input) input.value = value;
}

// A rate or a ramp, as it was asked for, with its thousands apart.
function asked(rate) {
  return rate.replace(/\d{4,}/g, (digits) => number(Number(digits)));
}

// Events that had not ended when the window did: the percentile is at least so high.
function percentile(row, name) {
  const value = number(row?.[`${name}_ms`]);
  return row?.at_least.includes(name) ? `≥${value}` : value;
}

function showNumbers() {
  const second = state.second;
  const last = state.rows[state.rows.length - 1];
  const isLive = second.at_s !== undefined;
  const of = isLive ? second : { tps: last?.tps, qps: last?.qps };
  const active = isLive ? `${number(second.in_flight)} / ${number(second.users)}` : null;
  // What stands still is of a step that has ended.
  const level = last && (last.rate ? `${asked(last.rate)}/s` : users(last.users));
  const shownNumbers = [
    [t("level"), isLive || !last ? null : level],
    [t("TPS"), number(of.tps)], [t("QPS"), number(of.qps)],
    [t("p95, ms"), isLive ? number(of.p95) : percentile(last, "p95")],
    [t("p99, ms"), isLive ? number(of.p99) : percentile(last, "p99")],
    [t("active / all connections"), active],
    [t("waiting"), isLive && state.step?.rate ? number(second.waiting) : null],
    [t("errors"), isLive ? number(second.errors) : null],
    [second.phase === "warmup" ? t("warm-up") : t("window"), isLive ? duration(second.at_s) : null],
  ];
  const known = isWatched() ? [] : shownNumbers.filter(([, value]) => value !== null);
  show(byId("numbers"), known.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function showRows() {
  const several = new Set(state.rows.map((row) => `${row.variant}/${row.workload}`)).size > 1;
  const rated = state.rows.some((row) => row.rate !== null);
  const columns = [
    [t("step"), true, (row) => row.step],
    ...(several ? [[t("variant"), false, (row) => listed([row.variant, row.workload])]] : []),
    [t("users"), true, (row) => number(row.users)],
    ...(rated ? [[t("rate/s"), true, (row) => row.rate === null ? "-" : asked(row.rate)]] : []),
    [t("TPS"), true, (row) => number(row.tps)],
    [t("QPS"), true, (row) => number(row.qps)],
    [t("p95, ms"), true, (row) => percentile(row, "p95")],
    [t("p99, ms"), true, (row) => percentile(row, "p99")],
    [t("errors"), true, (row) => number(row.errors)],
    [t("state"), false, (row) => listed([
      named("states", row.state),
      row.steady === false ? t("not steady") : null,
      row.client_bound ? t("client-bound") : null,
      row.changed ? t("changed by hand") : null,
    ])],
  ];
  table(byId("rows"), columns, state.rows);
  showComing();
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
  showStep();
  if (state.run) showProof(state.run.name, state.extras, me);
  const problem = state.extras.problem;
  byId("problem").hidden = !problem;
  byId("problem").textContent = problem ? spoken(problem) : "";
  const ladders = state.extras.findings;
  show(byId("findings"), ladders === null
    ? element("p", { class: "quiet" }, t("Findings appear when a step has ended."))
    : ladders.map((one) => findingsOf(one, ladders.length > 1)));
}

function findingsOf(ladder, isNamed) {
  return element("div", {},
    isNamed ? element("h4", {}, listed([ladder.variant, ladder.workload])) : null,
    ladder.findings.map(finding),
    notEvaluated(ladder.not_evaluated.map((one) => one.cause)));
}

function notEvaluated(causes) {
  if (!causes.length) return null;
  return element("details", { class: "quiet" },
    element("summary", {}, t("Not evaluated: {number}", { number: causes.length })),
    element("ul", {}, causes.map((cause) => element("li", {}, named("causes", cause)))));
}

function finding(found) {
  const facts = listed([named("groups", found.group),
    found.share === null ? null
      : found.claims.length ? t("{share} of the users' time", { share: percent(found.share) })
        : t("explains {share}", { share: percent(found.share) }),
    t("{confidence} sure", { confidence: percent(found.confidence) })]);
  const evidence = found.evidence.map((one) => element("li", {},
    speech("code", one.counter), ` ${number(one.value)} `, speech("span", one.unit), " ",
    one.threshold === null ? null : bracketed("", `${t("threshold")} ${number(one.threshold)}`),
    ` ${users(one.users)}`));
  return element("article", { class: `finding ${found.group}` },
    element("h4", {}, named("causes", found.cause), " ",
      element("code", { class: "quiet" }, found.cause), " ", element("span", { class: "quiet" }, bracketed("", facts))),
    speech("p", found.sentence),
    element("p", {}, element("b", {}, t("Remedy:")), " ", speech("span", found.remedy)),
    found.predicted && !found.proof ? element("p", {}, element("b", {}, t("Prediction:")), " ", speech("span", found.predicted)) : null,
    found.proof ? element("p", {}, element("b", {}, t("Proof:")), " ",
      pair(named("proof_verdicts", found.proof.verdict), ""), speech("span", found.proved)) : null,
    evidence.length ? element("details", {}, element("summary", {}, t("Evidence")), element("ul", {}, evidence)) : null);
}

// Requests to a run

async function ask(wish, body) {
  try {
    await post(`/api/runs/${encodeURIComponent(shown)}/${wish}`, body);
    byId("answer").textContent = t("Requested; the run applies it within a second, or when its next step starts.");
  } catch (error) {
    byId("answer").textContent = error.message;
  }
}

function onControls() {
  byId("set-users").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = byId("users");
    if (asked.reportValidity()) ask("users", { step: state.step.number, users: Number(asked.value) });
  });
  byId("set-rate").addEventListener("submit", (event) => {
    event.preventDefault();
    const rate = byId("rate");
    if (rate.reportValidity()) ask("rate", { step: state.step.number, rate: Number(rate.value) });
  });
  const stop = byId("stop");
  let sure = null;
  const calm = () => {
    clearTimeout(sure);
    sure = null;
    stop.classList.remove("sure");
    stop.textContent = t("Stop the run");
  };
  stop.addEventListener("click", () => {
    if (sure === null) {
      stop.classList.add("sure");
      stop.textContent = t("Click again to stop it");
      sure = setTimeout(calm, SURE_MS);
    } else {
      calm();
      ask("stop", {});
    }
  });
  byId("share").addEventListener("click", share);
  byId("prove").addEventListener("click", prove);
  byId("compare").addEventListener("click", () => {
    // By the order of the list, newer runs are compared with the oldest one.
    const names = runs.map((run) => run.name).filter((name) => picked.has(name)).reverse();
    window.location.hash = `compare=${names.map(encodeURIComponent).join("/")}`;
  });
  byId("trend-of").addEventListener("click", () => {
    window.location.hash = new URLSearchParams({ trend: "", ...chosen() }).toString();
  });
  onFilters(showRuns);
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
  });
  const theme = byId("theme");
  theme.value = chosenTheme();
  theme.addEventListener("change", () => chooseTheme(theme.value));
}

applyTheme();
applyWords();
onSwitches();
onControls();
onBegin();
onProof();
state = fresh();
window.addEventListener("hashchange", follow);
me = await whoAmI();
byId("begin-link").hidden = !me.may_run;
byId("compare").hidden = me.only !== null;
byId("trend-of").hidden = me.only !== null;
// A run's figures may come before the list of all runs, which decides what else is shown.
const first = wanted();
byId("run").hidden = !first.run || Boolean(first.prove);
connect(first.run ?? null);
