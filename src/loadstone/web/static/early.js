// Asks for the run in the address while the rest of the page is loaded: its figures take the longest.

export const EVENTS = ["runs", "snapshot", "run", "step", "second", "seen", "row", "note", "extras"];

let early = null;

function open(run) {
  return new EventSource(run ? `/api/events?run=${encodeURIComponent(run)}` : "/api/events");
}

const asked = new URLSearchParams(window.location.hash.slice(1)).get("run");
if (asked) {
  early = { run: asked, source: open(asked), events: [] };
  early.keep = (event) => early.events.push(event);
  for (const name of EVENTS) early.source.addEventListener(name, early.keep);
}

// The stream of a run (null: of the list alone), and the events that came before anybody took them.
export function streamOf(run) {
  const found = early;
  early = null;
  if (found === null) return { source: open(run), events: [] };
  for (const name of EVENTS) found.source.removeEventListener(name, found.keep);
  if (found.run === run && found.source.readyState !== EventSource.CLOSED) return found;
  found.source.close();
  return { source: open(run), events: [] };
}
