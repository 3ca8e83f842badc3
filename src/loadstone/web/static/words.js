// The page's texts. English is in the code; other languages come from the program's catalogues
// (locale/, through web/theme_export.py). Text from a server or a user is shown as it is.

import { element } from "./elements.js";
import { joins, names, texts } from "./shared.js";
import { keep, stored } from "./theme.js";

const LOCALES = { en: "en-US", zh: "zh-CN" };

export function chosenLanguage() {
  const kept = stored("loadstone-language");
  if (kept in texts) return kept;
  return navigator.language?.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function chooseLanguage(language) {
  keep("loadstone-language", language);
}

// The program's English sentences about a run, and the translations that the server sends.
const heard = new Map();

export function hear(told) {
  for (const [english, others] of Object.entries(told ?? {})) heard.set(english, others);
}

function translated(english) {
  return own(heard.get(english) ?? {}, chosenLanguage());
}

// A sentence from the program; one without a translation is marked as English.
export function speech(tag, english) {
  const other = translated(english);
  return element(tag, { lang: other === undefined ? "en" : null }, other ?? english);
}

// The same sentence as plain text.
export function spoken(english) {
  return translated(english) ?? english;
}

// A text in the chosen language; `{name}` is filled from `values`.
export function t(text, values = {}) {
  return filled(own(texts[chosenLanguage()], text) ?? text, values);
}

function filled(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => own(values, name) ?? whole);
}

function joined(how, first, second) {
  return filled(joins[chosenLanguage()][how], { first, second });
}

// `a, b`; empty texts are left out.
export function listed(parts) {
  return parts.filter(Boolean).reduce((text, part) => (text ? joined("list", text, part) : part), "");
}

// `name: what`
export function pair(name, what) {
  return joined("pair", name, what);
}

// `text (more)`
export function bracketed(text, more) {
  return joined("bracketed", text, more);
}

// A workload may be called "constructor", a property that every object has.
function own(table, name) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

// The report's word for a name; one from a newer version is shown as it is.
export function named(table, name) {
  return own(names[chosenLanguage()][table], name) ?? name;
}

export function users(count) {
  const values = { number: number(count) };
  return count === 1 ? t("1 user", values) : t("{number} users", values);
}

export function applyWords() {
  document.documentElement.lang = { en: "en", zh: "zh-CN" }[chosenLanguage()];
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t(one.dataset.text);
}

// Three significant digits with a thousands separator; an unknown value is not shown as zero. A half is rounded to
// the even number, as in the terminal.
export function number(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  const digits = size === 0 || size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return value.toLocaleString(LOCALES[chosenLanguage()],
    { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven" });
}

export function percent(share) {
  const value = 100 * share;
  return filled(joins[chosenLanguage()].percent, { number: value.toFixed(Math.abs(value) >= 10 ? 0 : 1) });
}

export function duration(seconds) {
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
}

// A moment on this browser's clock, the same in each language: 2026-11-28 14:03.
export function moment(at) {
  const when = new Date(at);
  const two = (value) => String(value).padStart(2, "0");
  const day = [when.getFullYear(), two(when.getMonth() + 1), two(when.getDate())].join("-");
  return `${day} ${two(when.getHours())}:${two(when.getMinutes())}`;
}
