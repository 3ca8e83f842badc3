// What a person may do with the run that is shown: change its users and its rate, stop it, share it.

import { post } from "./asking.js";
import { byId, element, show } from "./elements.js";
import { t } from "./words.js";

const SURE_MS = 5000;

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
  byId("share").addEventListener("click", () => share(shown().run));
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
    show(place, t("Who has this link can read this run, and nothing else:"), " ", element("code", {}, link));
  } catch (error) {
    place.textContent = error.message;
  }
}
