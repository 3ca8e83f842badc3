// Light and dark: the page's own colours are in tokens.css, those of figures in the shared data.

import { themes } from "./shared.js";

const system = window.matchMedia("(prefers-color-scheme: dark)");
const heard = [];

export function chosenTheme() {
  const kept = stored("loadstone-theme");
  return ["light", "dark"].includes(kept) ? kept : "auto";
}

export function chooseTheme(theme) {
  keep("loadstone-theme", theme);
  applyTheme();
  heard.forEach((tell) => tell());
}

export function applyTheme() {
  const theme = chosenTheme();
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

export function onTheme(tell) {
  heard.push(tell);
}

system.addEventListener("change", () => heard.forEach((tell) => tell()));

export function chartTheme() {
  const theme = chosenTheme();
  const isDark = theme === "dark" || (theme === "auto" && system.matches);
  return themes[isDark ? "dark" : "light"];
}

// If storage is blocked in the browser, the choice lasts as long as the page.
const lasting = {};

export function stored(name) {
  try {
    return window.localStorage.getItem(name) ?? lasting[name] ?? null;
  } catch {
    return lasting[name] ?? null;
  }
}

export function keep(name, value) {
  lasting[name] = value;
  try {
    window.localStorage.setItem(name, value);
  } catch {
    // `lasting` has the value.
  }
}
