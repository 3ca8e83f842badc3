// One click on a finished run: its findings are diagnosed and proved. What the trials change is listed first; then
// the page shows what is changed now and put back, and in the end each prediction next to what was measured.

import { post } from "./asking.js";
import { byId, element, renew, show } from "./elements.js";
import { Plan } from "./plan.js";
import {
  bracketed, chosenLanguage, hear, listed, moment, named, number, pair, percent, speech, spoken, t, users,
} from "./words.js";

const LOOK_MS = 1500;

let plan = null;
let shown = null; // { run, findings, trial }: what the stream of the run says
let asked = null; // the name of the run that it was asked for
let act = null; // the newest command that proves this run
let mayRun = false;
let timer = null;

export function onProof() {
  plan = new Plan("proof-plan", say, started);
}

// The list of what it would do, for the run in the address.
export function askForProof(run) {
  asked = run;
  plan.look({ kind: "prove", run, yes: false });
}

// What is known of the run that is shown, for a person with these rights.
export function showProof(run, extras, me) {
  mayRun = me.may_run;
  if (shown?.run !== run) {
    act = null;
    if (asked !== run) plan.forget();
    asked = null;
    clearTimeout(timer);
    if (me.only === null) watch(run);
  }
  shown = { run, findings: (extras.findings ?? []).flatMap(({ findings }) => findings), trial: extras.trial };
  draw();
}

export function proofInOtherWords() {
  const form = byId("proof-plan").hidden ? null : plan.form;
  plan.words();
  if (form) plan.look(form);
  if (shown) draw();
}

function say(text, isProblem = false) {
  byId("proof-answer").textContent = text;
  byId("proof-answer").className = isProblem ? "problem" : "";
  if (shown) draw();
}

function started() {
  // Loaded again, the page shows the run, and does not ask what another proof would do.
  history.replaceState(null, "", `#run=${encodeURIComponent(shown.run)}`);
  watch(shown.run);
  byId("proof-title").focus();
}

// The command at work; its trials come with the run's own stream.
async function watch(run) {
  clearTimeout(timer);
  const answer = await fetch("/api/begun").catch(() => null);
  if (answer?.ok) {
    const found = await answer.json();
    hear(found.told);
    if (shown?.run !== run) return;
    const wasAtWork = act?.at_work;
    act = found.begun.find((one) => one.kind === "prove" && one.run === run) ?? null;
    if (wasAtWork && !act?.at_work) say("");
    draw();
  }
  if (act?.at_work) timer = setTimeout(() => watch(run), LOOK_MS);
}

function draw() {
  const proved = shown.findings.filter(({ proof }) => proof);
  const isAsked = !byId("proof-plan").hidden || byId("proof-answer").textContent !== "";
  byId("proof").hidden = !(isAsked || act || shown.trial || proved.length);
  // Two proofs at the same time would disturb each other's figures.
  byId("prove").disabled = Boolean(act?.at_work) || Boolean(shown.trial);
  if (act?.at_work && !byId("proof-plan").hidden) plan.forget();
  showCommand();
  showTrial();
  showProved(proved);
}

function showCommand() {
  const place = byId("proof-act");
  place.hidden = !act;
  if (!act) return;
  const isOpen = place.querySelector("details")?.open ?? false;
  const failed = !act.at_work && act.code !== 0;
  renew(place,
    element("p", {}, element("strong", { class: failed ? "bad" : "good" }, spoken(act.said)), " ",
      element("span", { class: "quiet" }, listed([moment(1000 * act.unix_s), act.who]))),
    element("p", {}, element("code", {}, act.command)),
    element("details", { open: isOpen || failed },
      element("summary", { "data-key": "proof-output" }, t("What it says")),
      element("pre", { role: "group", tabindex: "0", "data-key": "proof-said", "aria-label": t("What it says") }, act.output)),
    act.at_work && mayRun ? element("button", {
      type: "button", class: "danger", "data-key": "proof-stop", onclick: () => stop(act.id),
    }, t("Stop it")) : null);
}

async function stop(id) {
  try {
    await post(`/api/begun/${encodeURIComponent(id)}/stop`, {});
    say(t("Asked to stop: events in flight are finished, and everything is kept."));
  } catch (error) {
    say(error.message, true);
  }
}

// The trial under way: its steps, and whether the change is in effect in this one.
function showTrial() {
  const place = byId("proof-trial");
  const { trial } = shown;
  const isAtWork = Boolean(act?.at_work) || Boolean(trial);
  place.hidden = !isAtWork;
  if (!isAtWork) return;
  if (!trial) {
    show(place, t("Between two trials: nothing is changed."));
    return;
  }
  const change = shown.findings.find(({ cause }) => cause === trial.cause)?.change;
  const planned = trial.steps_planned;
  const done = planned ? t("{done} of {planned} steps", { done: trial.steps_done, planned })
    : t("{done} steps", { done: trial.steps_done });
  show(place,
    element("p", {}, element("strong", {}, named("causes", trial.cause)), " ", element("code", { class: "quiet" }, trial.cause)),
    planned ? element("progress", { max: planned, value: trial.steps_done, "aria-label": done }) : null,
    element("p", {}, listed([done, trial.users === null ? null : users(trial.users)])),
    element("p", { class: trial.changed ? "changed" : null }, now(trial, change)));
}

function now({ changed }, change) {
  if (changed === null) return t("Between two steps: what was changed is put back.");
  if (!changed) return t("Now without the change.");
  return change ? [pair(t("Changed now"), ""), speech("span", change)] : t("Now with the change.");
}

// The prediction next to what was measured, for each finding that was tried.
function showProved(proved) {
  byId("proof-results").hidden = proved.length === 0;
  show(byId("proof-rows"), proved.map(result));
  const lang = chosenLanguage();
  byId("proof-report").href = `/runs/${encodeURIComponent(shown.run)}/report?lang=${lang}`;
  byId("proof-export").href = `/runs/${encodeURIComponent(shown.run)}/result.json`;
  byId("proof-export").download = `${shown.run}.json`;
}

function result({ cause, change, proof }) {
  const numbers = [
    [t("events/s without it"), number(proof.tps_before)],
    proof.foretold ? [t("predicted with it (80 %)"), predicted(proof.foretold)] : null,
    [t("measured with it"), number(proof.tps_changed)],
    [t("difference"), difference(proof)],
  ].filter(Boolean);
  return element("article", { class: "finding" },
    element("h4", {}, named("causes", cause), " ", element("code", { class: "quiet" }, cause), " ",
      element("span", { class: proof.verdict === "proven" ? "good" : "quiet" }, named("proof_verdicts", proof.verdict))),
    element("p", {}, change ? speech("span", change) : null, " ", element("span", { class: "quiet" }, users(proof.users))),
    element("dl", { class: "numbers" }, numbers.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value)))));
}

function predicted(rate) {
  if (!rate) return "-";
  const ends = [number(rate.low), number(rate.high)];
  return ends[0] === ends[1] ? ends[0] : ends.join(" .. ");
}

function difference({ change, change_low: low, change_high: high }) {
  const signed = (value) => `${value > 0 ? "+" : ""}${percent(value)}`;
  if (change === null) return "-";
  return low === null ? signed(change)
    : [signed(change), " ", element("small", { class: "line" }, bracketed("", `${signed(low)} .. ${signed(high)}`).trim())];
}
