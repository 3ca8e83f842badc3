// The server's streams of events: one is open at a time.

export const EVENTS = ["runs", "snapshot", "run", "step", "second", "seen", "row", "note", "extras"];

// The stream of a run (null: of the list alone), and the events that came before anybody took them.
export function streamOf(run) {
  const found = globalThis.early ?? null;
  globalThis.early = null;
  found?.leave();
  if (found?.run === run && found.source.readyState !== EventSource.CLOSED) return found;
  found?.source.close();
  const query = run ? `?run=${encodeURIComponent(run)}` : "";
  return { source: new EventSource(`/api/events${query}`), events: [] };
}
