// What the page has in common with the report: colours of figures, and words (web/theme_export.py).

export const { themes, texts, names } = await (await fetch("/static/shared.json")).json();
