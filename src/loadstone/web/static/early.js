// Within the page, before all else: asks for the run in the address while the rest is loaded, as its figures take the
// longest. streams.js takes what has come; it asks itself where this script may not run.

globalThis.early = (() => {
  const run = new URLSearchParams(window.location.hash.slice(1)).get("run");
  if (!run) return null;
  const names = ["runs", "snapshot", "run", "step", "second", "seen", "row", "note", "extras"];
  const source = new EventSource(`/api/events?run=${encodeURIComponent(run)}`);
  const events = [];
  const keep = (event) => events.push(event);
  for (const name of names) source.addEventListener(name, keep);
  const leave = () => names.forEach((name) => source.removeEventListener(name, keep));
  return { run, source, events, leave };
})();
