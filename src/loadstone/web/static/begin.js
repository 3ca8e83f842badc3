// Beginning work: a form becomes a command line, which is looked at first and then started. The page can do nothing
// that the command line cannot, so the command is always there to copy.

import { post } from "./asking.js";
import { commandLine } from "./copying.js";
import { byId, element, renew, show } from "./elements.js";
import { Plan } from "./plan.js";
import { chosenLanguage, hear, listed, moment, pair, speech, spoken, t } from "./words.js";

const LOOK_MS = 1500;
const THROWAWAY = "throwaway";
const ANOTHER = "another";

let offered = null;
let plan = null;
let acts = [];
let timer = null;

export async function whoAmI() {
  const answer = await fetch("/api/me").catch(() => null);
  return answer?.ok ? answer.json() : { name: "", may_run: false, may_steer: false, only: null };
}

export async function showBegin() {
  plan.words();
  await offer();
  watchActs();
}

async function offer() {
  if (offered === null) {
    const answer = await fetch("/api/begin").catch(() => null);
    if (!answer?.ok) return;
    offered = await answer.json();
    hear(offered.told);
  }
  const chosen = values();
  fillTargets(chosen.target);
  fillWorkloads(chosen.workload);
  fillRecipes(chosen.recipe);
  showKind();
}

function values() {
  return {
    target: byId("begin-target").value, workload: byId("begin-workload").value, recipe: byId("begin-recipe").value,
  };
}

function options(list, chosen, made) {
  show(list, made.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
}

function fillTargets(chosen) {
  const texts = {
    throwaway: () => t("a throwaway server, removed at the end"),
    kept: (url) => url,
    before: (url) => pair(t("used before"), url),
  };
  const made = offered.targets.map(({ url, kind }) =>
    [url, texts[kind] ? texts[kind](url) : pair(kind, url)]);
  if (offered.any_target) made.push([ANOTHER, t("another server")]);
  options(byId("begin-target"), chosen || THROWAWAY, made);
  show(byId("begin-places"), offered.targets.filter(({ url }) => url !== THROWAWAY)
    .map(({ url }) => element("option", { value: url })));
  showTarget();
}

function fillWorkloads(chosen) {
  options(byId("begin-workload"), chosen || "oltp_read_write", offered.workloads.map(({ name }) => [name, name]));
  showWorkload();
}

function fillRecipes(chosen) {
  options(byId("begin-recipe"), chosen, offered.recipes.map(({ name, title }) => [name, pair(name, spoken(title))]));
  showRecipe();
}

function showKind() {
  const isRecipe = byId("begin-kind-recipe").checked;
  byId("of-runs").hidden = isRecipe;
  byId("of-recipes").hidden = !isRecipe;
}

function showTarget() {
  const chosen = byId("begin-target").value;
  byId("begin-url-row").hidden = chosen !== ANOTHER;
  byId("begin-server-row").hidden = chosen !== THROWAWAY;
  byId("begin-check").hidden = chosen === THROWAWAY;
  byId("begin-checked").hidden = true;
  byId("begin-check-command").hidden = true;
  byId("begin-password").textContent = passwordOf(chosen);
}

// Where the password of a server comes from.
function passwordOf(target) {
  if (target === THROWAWAY) return t("It has a password of its own.");
  const known = offered.targets.find(({ url }) => url === target);
  if (!known) return t("The password is read where this page's server runs, from ~/.my.cnf or ~/.pgpass.");
  return known.password ? pair(t("password"), spoken(known.password)) : "";
}

function field(id, name, about, input) {
  return element("div", { class: "field" }, element("label", { for: id }, name), input,
    about ? element("span", { class: "quiet", id: `${id}-about` }, about) : null);
}

// The fields of a workload or a recipe; what was typed into those of the same one stays.
function renewFields(id, of, fields) {
  const place = byId(id);
  const typed = place.dataset.of !== of ? []
    : [...place.querySelectorAll("[data-usual]")].filter((one) => one.value !== one.dataset.usual)
      .map((one) => [one.id, one.value]);
  place.dataset.of = of ?? "";
  show(place, fields);
  for (const [field, value] of typed) byId(field).value = value;
}

function showWorkload() {
  const chosen = offered.workloads.find(({ name }) => name === byId("begin-workload").value);
  show(byId("begin-about"), chosen ? speech("span", chosen.about) : "");
  renewFields("begin-options", chosen?.name, (chosen?.options ?? []).map(({ name, default: usual, about }) => {
    const id = `option-${name}`;
    const common = { id, "data-option": name, "aria-describedby": `${id}-about` };
    const isSwitch = typeof usual === "boolean";
    const input = isSwitch
      ? element("select", { ...common, "data-usual": usual ? "on" : "off" },
        element("option", { value: "on", selected: usual }, t("on")),
        element("option", { value: "off", selected: !usual }, t("off")))
      : element("input", { ...common, placeholder: usual ?? "", "data-usual": "", autocomplete: "off" });
    return field(id, name, spoken(about), input);
  }));
  byId("begin-options-all").hidden = !chosen?.options.length;
  const isTemplate = Boolean(chosen?.is_template);
  for (const row of ["begin-tables-row", "begin-rows-row", "begin-prove-row"]) byId(row).hidden = isTemplate;
  byId("begin-template").hidden = !isTemplate;
}

function showRecipe() {
  const chosen = offered.recipes.find(({ name }) => name === byId("begin-recipe").value);
  if (!chosen) return;
  const isQuick = byId("begin-quick").checked;
  show(byId("begin-question"),
    element("p", {}, speech("span", chosen.question)),
    element("p", {}, pair(t("It needs"), ""), speech("span", chosen.needs)),
    element("p", { class: "quiet" }, speech("span", isQuick ? chosen.lasts_quick : chosen.lasts)));
  renewFields("begin-parameters", chosen.name, chosen.questions.map((one) => {
    const id = `parameter-${one.name}`;
    const common = { id, "data-parameter": one.name, "aria-describedby": `${id}-about` };
    const usual = isQuick ? one.quick : one.full;
    const input = one.choices.length
      ? element("select", { ...common, "data-usual": usual },
        one.choices.map((value) => element("option", { value, selected: value === usual }, value)))
      : element("input", { ...common, placeholder: usual, "data-usual": "", autocomplete: "off" });
    return one.kind === "place" ? place(id, one, input) : field(id, one.name, spoken(one.about), input);
  }));
  for (const one of byId("begin-parameters").querySelectorAll("[list]")) showPassword(one);
}

// A server of a recipe: the kept ones are offered, and it says where the password of the one that is named comes from.
function place(id, { name, about }, input) {
  input.setAttribute("list", "begin-places");
  input.addEventListener("input", () => showPassword(input));
  return field(id, name, [spoken(about), element("br"), element("span", { "data-password": true })], input);
}

function showPassword(input) {
  const typed = input.value.trim();
  const said = typed.includes("://") ? passwordOf(typed) : "";
  input.closest(".field").querySelector("[data-password]").textContent = said;
}

// The form as the server takes it

function changed(place, name) {
  const inputs = [...byId(place).querySelectorAll("[data-usual]")];
  return Object.fromEntries(inputs.filter((one) => one.value.trim() !== one.dataset.usual)
    .map((one) => [one.dataset[name], one.value.trim()]));
}

function form() {
  if (byId("begin-kind-recipe").checked) {
    return {
      kind: "recipe", recipe: byId("begin-recipe").value, quick: byId("begin-quick").checked,
      given: changed("begin-parameters", "parameter"),
    };
  }
  const chosen = byId("begin-target").value;
  const load = byId("begin-load").value;
  const ofTables = (id) => (byId(`${id}-row`).hidden ? "" : byId(id).value);
  return {
    kind: "run",
    target: chosen === ANOTHER ? byId("begin-url").value.trim() : chosen,
    server: chosen === THROWAWAY ? byId("begin-server").value : "",
    workload: byId("begin-workload").value,
    options: changed("begin-options", "option"),
    [load]: byId("begin-level").value,
    duration: byId("begin-duration").value, warmup: byId("begin-warmup").value,
    tables: ofTables("begin-tables"), table_size: ofTables("begin-rows"),
    name: byId("begin-name").value, prove: byId("begin-prove").checked && !byId("begin-prove-row").hidden,
  };
}

const LEVELS = {
  concurrency: () => ["1,8,64", t("Numbers of users, a step each: 1,8,64 or 1..128; auto finds the peak.")],
  rate: () => ["500", t("Events per second that are due, however long answers take; several with commas.")],
  objective: () => ["p99<10ms", t("Finds the highest rate that meets it, such as p99<10ms.")],
};

function showLevel(isNew) {
  const [usual, about] = LEVELS[byId("begin-load").value]();
  if (isNew) byId("begin-level").value = usual;
  byId("begin-level-about").textContent = about;
}

// Looking, then starting

function say(text, isProblem = false) {
  byId("begin-answer").textContent = text;
  byId("begin-answer").className = isProblem ? "problem" : "";
}

async function started() {
  await watchActs();
  byId("acts-title").focus();
}

async function check() {
  const chosen = byId("begin-target").value;
  const target = chosen === ANOTHER ? byId("begin-url").value.trim() : chosen;
  byId("begin-checked").hidden = false;
  byId("begin-check-command").hidden = true;
  byId("begin-checked").textContent = t("Asking the server …");
  try {
    const found = await post("/api/begin/check", { target, language: chosenLanguage() });
    byId("begin-checked").textContent = found.text;
    byId("begin-check-command").hidden = false;
    show(byId("begin-check-command"), commandLine(found.command, say));
  } catch (error) {
    byId("begin-checked").textContent = error.message;
  }
}

// What was begun

async function watchActs() {
  clearTimeout(timer);
  const answer = await fetch("/api/begun").catch(() => null);
  if (answer?.ok) {
    const found = await answer.json();
    hear(found.told);
    acts = found.begun;
    showActs();
  }
  if (!byId("begin").hidden) timer = setTimeout(watchActs, LOOK_MS);
}

function showActs() {
  const place = byId("acts-list");
  byId("acts").hidden = acts.length === 0;
  const open = new Set([...place.querySelectorAll("details[open]")].map((one) => one.dataset.act));
  renew(place, acts.map((one, at) => act(one, open.has(one.id) || (at === 0 && one.at_work && !place.firstChild))));
}

function act(one, isOpen) {
  const went = one.at_work || one.code === 0 ? "good" : "bad";
  const facts = listed([moment(1000 * one.unix_s), one.who]);
  const run = one.run === null ? null
    : element("a", { href: `#run=${encodeURIComponent(one.run)}`, "data-key": `run-${one.id}` }, one.run);
  return element("li", {},
    element("p", {}, element("strong", { class: went }, spoken(one.said)), " ", run, " ",
      element("span", { class: "quiet" }, facts)),
    element("p", {}, element("code", {}, one.command)),
    element("details", { "data-act": one.id, open: isOpen },
      element("summary", { "data-key": `output-${one.id}` }, t("What it says")),
      element("pre", { role: "group", tabindex: "0", "data-key": `said-${one.id}`, "aria-label": t("What it says") }, one.output)),
    one.at_work ? element("button", {
      type: "button", class: "danger", "data-key": `stop-${one.id}`, onclick: () => stop(one.id),
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

export function onBegin() {
  plan = new Plan("plan", say, started);
  byId("begin-form").addEventListener("submit", (event) => {
    event.preventDefault();
    plan.look(form());
  });
  byId("begin-form").addEventListener("input", () => plan.forget());
  byId("begin-kind-run").addEventListener("change", showKind);
  byId("begin-kind-recipe").addEventListener("change", showKind);
  byId("begin-target").addEventListener("change", showTarget);
  byId("begin-workload").addEventListener("change", showWorkload);
  byId("begin-recipe").addEventListener("change", showRecipe);
  byId("begin-quick").addEventListener("change", showRecipe);
  byId("begin-load").addEventListener("change", () => showLevel(true));
  byId("begin-check").addEventListener("click", check);
  showLevel(false);
}

export function beginInOtherWords() {
  showLevel(false);
  if (!byId("begin").hidden) showBegin();
}
