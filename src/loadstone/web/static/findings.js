// What the diagnosis found, in the page's words.

import { element } from "./elements.js";
import { bracketed, listed, named, number, pair, percent, speech, t, users } from "./words.js";

export function findingsOf(ladder, isNamed) {
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
