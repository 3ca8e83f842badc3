// Requests that change something, and their answers.

import { hear, spoken, t } from "./words.js";

const HEAD = { "x-loadstone": "1", "content-type": "application/json" };

// The answer's document; throws an error with the reason, in the chosen language.
export async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: HEAD, body: JSON.stringify(body) }).catch(() => null);
  if (!answer) throw new Error(t("The server does not answer; trying again."));
  const text = (await answer.text()).trim();
  const found = parsed(text);
  hear(found.told);
  if (!answer.ok) throw new Error(t("Refused: {why}", { why: spoken(found.error ?? text) }));
  return found;
}

// What is refused before it reaches the page's routes is answered as text.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
