// A command line to copy: the page can do nothing that it cannot.

import { element } from "./elements.js";
import { t } from "./words.js";

// Whether it was copied. A page from another machine without TLS has no clipboard: then the command is selected.
export async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}

// `say` shows a sentence, once it was copied.
export function commandLine(command, say) {
  const code = element("code", {}, command);
  const copy = async () => {
    if (await copied(code)) say(t("The command was copied."));
  };
  return element("p", {}, code, " ", element("button", { type: "button", onclick: copy }, t("Copy the command")));
}
