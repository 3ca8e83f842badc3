// Within the page, before all else: asks for the run in the address while the rest is loaded, as its figures take the
// longest. streams.js takes what has come.

globalThis.early = (() => {
  const names = ["runs", "snapshot", "run", "step", "second", "seen", "row", "note", "extras"];
  const open = (run) => new EventSource(run ? `/api/events?run=${encodeURIComponent(run)}` : "/api/events");
  const run = new URLSearchParams(window.location.hash.slice(1)).get("run");
  if (!run) return { names, open, found: null };
  const found = { run, source: open(run), events: [] };
  found.keep = (event) => found.events.push(event);
  for (const name of names) found.source.addEventListener(name, found.keep);
  return { names, open, found };
})();
