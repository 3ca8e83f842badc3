// Data shared with the report: colours of figures, and texts (web/theme_export.py).

export const { themes, texts, names, joins } = await (await fetch("/static/shared.json")).json();
