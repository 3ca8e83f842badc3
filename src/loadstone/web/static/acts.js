// What a person may do with the run that is shown: change its users and its rate, stop it, share it.

import { post } from "./asking.js";
import { byId, element, show } from "./elements.js";
import { t } from "./words.js";

const SURE_MS = 5000;

let sure = null; // until then a second click stops the run

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
}

// Another run is shown: what was asked of the one before is no matter of its own.
export function forgetActs() {
  calm();
  byId("answer").textContent = "";
  byId("shared").hidden = true;
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
