// What a command would do, listed before it is started: the list, the consent, and the command line to copy.

import { post } from "./asking.js";
import { copied } from "./copying.js";
import { byId, element, show } from "./elements.js";
import { chosenLanguage, t } from "./words.js";

export class Plan {
  // `id`: of the section that shows it; `say` shows a sentence and whether it is a problem; `started` follows a start.
  constructor(id, say, started) {
    this.id = id;
    this.say = say;
    this.started = started;
    this.looked = null; // what was shown: { form, ticket }
    this.words();
  }

  at(part) {
    return byId(`${this.id}-${part}`);
  }

  // Its own texts, in the chosen language; what was listed has to be asked for again.
  words() {
    const id = (part) => `${this.id}-${part}`;
    show(byId(this.id),
      element("h3", { id: id("title"), tabindex: "-1" }, t("What it will do")),
      element("pre", { id: id("text"), role: "group", tabindex: "0", "aria-labelledby": id("title") }),
      element("label", { class: "choice", id: id("yes-row"), hidden: true },
        element("input", { type: "checkbox", id: id("yes"), onchange: (event) => this.look({ ...this.form, yes: event.target.checked }) }),
        " ", t("I agree to that: --yes")),
      element("p", { class: "quiet", id: id("more"), hidden: true },
        t("Without the tick, the trials that need it are left out.")),
      element("p", {}, element("code", { id: id("command") }), " ",
        element("button", { type: "button", id: id("copy"), onclick: () => this.copy() }, t("Copy the command"))),
      element("button", { type: "button", id: id("start"), class: "sure-begin", onclick: () => this.start() }, t("Start")));
    this.forget();
  }

  forget() {
    this.looked = null;
    this.form = null;
    byId(this.id).hidden = true;
    this.say("");
  }

  async look(form) {
    this.forget();
    this.form = form;
    this.say(t("Asking what this would do …"));
    try {
      const found = await post("/api/begin/look", { form, language: chosenLanguage() });
      if (this.form !== form) return;
      this.looked = { form, ticket: found.ticket };
      this.list(found);
      this.say("");
      this.at("title").focus();
    } catch (error) {
      if (this.form === form) this.say(error.message, true);
    }
  }

  list(found) {
    byId(this.id).hidden = false;
    this.at("text").textContent = found.text;
    this.at("text").classList.toggle("problem", found.code !== 0);
    this.at("command").textContent = found.command;
    this.at("yes-row").hidden = !(found.needs_yes || found.more_with_yes || this.form.yes);
    this.at("more").hidden = !found.more_with_yes;
    this.at("yes").checked = Boolean(this.form.yes);
    this.at("start").disabled = !found.ticket;
  }

  async start() {
    if (!this.looked?.ticket) return;
    this.at("start").disabled = true;
    try {
      await post("/api/begin/start", { ...this.looked, language: chosenLanguage() });
      this.forget();
      this.say(t("It was started, and goes on without this page."));
      this.started();
    } catch (error) {
      this.at("start").disabled = false;
      this.say(error.message, true);
    }
  }

  async copy() {
    if (await copied(this.at("command"))) this.say(t("The command was copied."));
  }
}
