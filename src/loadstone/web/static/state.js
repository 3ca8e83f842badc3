// What is known of the run that is shown.

export function fresh() {
  return {
    run: null, step: null, second: {}, rows: [], notes: [],
    extras: { findings: null, alive: null, trial: null, account: null, problem: null }, timelines: {}, account: null, heat: null,
  };
}

// Whether a server is only watched, under a load that is not ours: it has no users and no events of ours.
export function isWatched(state) {
  return state.run?.workload === "watch";
}

export function runState(state) {
  if (state.run?.ended) return state.run.ended;
  if (state.extras.alive === null) return "";
  return state.extras.alive ? "running" : "interrupted";
}
