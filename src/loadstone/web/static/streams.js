// The server's streams of events: one is open at a time.

const { names, open } = globalThis.early;

export const EVENTS = names;

// The stream of a run (null: of the list alone), and the events that came before anybody took them.
export function streamOf(run) {
  const { found } = globalThis.early;
  globalThis.early.found = null;
  if (found === null) return { source: open(run), events: [] };
  for (const name of names) found.source.removeEventListener(name, found.keep);
  if (found.run === run && found.source.readyState !== EventSource.CLOSED) return found;
  found.source.close();
  return { source: open(run), events: [] };
}
