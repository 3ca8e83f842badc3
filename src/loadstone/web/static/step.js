// The step that runs, in words and numbers, and those that have ended.

import { byId, element, show, table } from "./elements.js";
import { isWatched, runState } from "./state.js";
import { duration, listed, named, number, t, users } from "./words.js";

export function showStep(state, maySteer) {
  const step = state.step;
  byId("controls").hidden = runState(state) !== "running" || !maySteer;
  const isDriven = Boolean(step?.connected);
  byId("set-users").hidden = !isDriven || !step.may_change;
  byId("set-rate").hidden = !isDriven || !step.may_change || !step.rate;
  showNumbers(state);
  showComing(state);
  showProgress(state);
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
  byId("step").textContent = isWatched(state) ? t("The server is watched, without load of ours.")
    : listed([place, variant, step.workload, atWork, due, step.connected ? null : t("connecting"), timeLeft(state)]);
  byId("users").max = step.users;
  fill(byId("users"), step.users_now);
  if (step.rate) fill(byId("rate"), step.rate_now);
}

// Of the warm-up or of the window; `null` if no time limits it, or the load is not there yet.
function timeLeft(state) {
  const { phase, at_s: at } = state.second;
  const { warmup_s: warmup, duration_s: lasts } = state.run ?? {};
  const end = { warmup, window: lasts && lasts + warmup }[phase];
  if (!end || at === undefined) return null;
  const values = { time: duration(Math.max(0, end - at)) };
  return phase === "warmup" ? t("warm-up, {time} left", values) : t("measuring, {time} left", values);
}

// Of all planned steps, without the time in which users connect; `null` where the plan does not say.
function wholeLeft(state) {
  const { warmup_s: warmup, duration_s: lasts, steps_planned: planned } = state.run ?? {};
  if (!planned || !lasts || warmup === null) return null;
  const whole = planned * (lasts + warmup);
  const spent = state.rows.length * (lasts + warmup) + Math.min(state.second.at_s ?? 0, lasts + warmup);
  return { whole, spent: Math.min(spent, whole) };
}

function showProgress(state) {
  const found = runState(state) === "running" ? wholeLeft(state) : null;
  byId("progress").hidden = !found;
  if (!found) return;
  byId("progress-bar").max = found.whole;
  byId("progress-bar").value = found.spent;
  byId("progress-left").textContent = t("about {time} left of the whole", { time: duration(found.whole - found.spent) });
}

// In place of a table without rows.
function showComing(state) {
  const isEmpty = isWatched(state) || state.rows.length === 0;
  byId("rows").hidden = isEmpty;
  byId("ladder-wait").hidden = !isEmpty;
  byId("ladder-wait").textContent = isEmpty ? coming(state) : "";
}

function coming(state) {
  const step = state.step;
  if (isWatched(state)) return t("The server is watched, without load of ours.");
  if (runState(state) !== "running") return t("No step has ended.");
  if (!step) return t("The tables are checked or loaded; then the first step starts.");
  if (!step.connected) return t("The users connect; then the warm-up starts.");
  const values = { step: step.number, users: users(step.users), time: timeLeft(state) };
  if (!values.time) return t("Step {step} runs with {users}: its figures appear here when it has ended.", values);
  return t("Step {step} runs with {users}: its figures appear here when it has ended ({time}).", values);
}

// A field that the user is editing is left alone.
function fill(input, value) {
  if (document.activeElement !== input) input.value = value;
}

function showNumbers(state) {
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
  const known = isWatched(state) ? [] : shownNumbers.filter(([, value]) => value !== null);
  show(byId("numbers"), known.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

export function showRows(state) {
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
