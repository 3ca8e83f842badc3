// What a person may do with the run that is shown: change its users and its rate, stop it, share it.

import { post } from "./asking.js";
import { commandLine } from "./copying.js";
import { byId, element, show } from "./elements.js";
import { t } from "./words.js";

const SURE_MS = 5000;

let sure = null; // until then a second click stops the run
let asking = null; // { run, command }: the command for the run that is shown, without what is asked

// `shown` tells the name of the run that is shown, and the number of its step.
export function onActs(shown) {
  const ask = (wish, body) => request(shown().run, wish, body);
  byId("set-users").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = byId("users");
    if (asked.reportValidity()) ask("users", { step: shown().step, users: Number(asked.value) });
  });
  byId("set-rate").addEventListener("submit", (event) => {
    event.preventDefault();
    const rate = byId("rate");
    if (rate.reportValidity()) ask("rate", { step: shown().step, rate: Number(rate.value) });
  });
  const stop = byId("stop");
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
  byId("share").addEventListener("click", () => share(shown().run));
  byId("as-commands").addEventListener("toggle", () => showCommands(shown));
  byId("controls").addEventListener("input", () => showCommands(shown));
}

// What the fields ask for now, as command lines.
export async function showCommands(shown) {
  if (!byId("as-commands").open) return;
  const { run } = shown();
  if (asking?.run !== run) {
    const answer = await fetch(`/api/runs/${encodeURIComponent(run)}/ask`).catch(() => null);
    if (!answer?.ok) return;
    const found = await answer.json();
    if (shown().run !== run) return;
    asking = { run, command: found.command };
  }
  const of = (form, option) => (byId(form).hidden || !byId(form).checkValidity() ? [] : [`--${option}=${Number(byId(option).value)}`]);
  const say = (text) => { byId("answer").textContent = text; };
  show(byId("commands"), [...of("set-users", "users"), ...of("set-rate", "rate"), "--stop"]
    .map((asked) => commandLine(`${asking.command} ${asked}`, say)));
}

// Another run is shown: what was asked of the one before is no matter of its own.
export function forgetActs() {
  calm();
  byId("answer").textContent = "";
  byId("shared").hidden = true;
  byId("as-commands").open = false;
}

function calm() {
  clearTimeout(sure);
  sure = null;
  byId("stop").classList.remove("sure");
  byId("stop").textContent = t("Stop the run");
}

async function request(run, wish, body) {
  try {
    await post(`/api/runs/${encodeURIComponent(run)}/${wish}`, body);
    byId("answer").textContent = t("Requested; the run applies it within a second, or when its next step starts.");
  } catch (error) {
    byId("answer").textContent = error.message;
  }
}

async function share(run) {
  const place = byId("shared");
  place.hidden = false;
  try {
    const { token } = await post(`/api/runs/${encodeURIComponent(run)}/share`, {});
    const link = `${window.location.origin}/?token=${encodeURIComponent(token)}#run=${encodeURIComponent(run)}`;
    show(place, t("Anyone with this link can read this run, and nothing else:"), " ", element("code", {}, link));
  } catch (error) {
    place.textContent = error.message;
  }
}
