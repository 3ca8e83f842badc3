//! Gives a loaded script the options of its plan.

use mlua::Table;

use crate::options::resolve;
use crate::plan::ScriptPlan;
use crate::state::State;
use crate::{ScriptError, Setting};

/// Sets the options of a user whose script is loaded.
pub(crate) fn configure(
    state: &State,
    plan: &ScriptPlan,
    record: &Table,
) -> Result<(), ScriptError> {
    if state.options.get().is_none() {
        let declared = state.declared(record)?;
        let resolved = resolve(declared.as_deref(), &plan.given)?;
        let table = state.table()?;
        for (name, setting) in plan.general.iter().chain(&resolved) {
            set(&table, name, setting)?;
        }
        // Nothing else sets it: a state belongs to one thread.
        drop(state.options.set(table));
    }
    Ok(state.call("configure", (record, state.options.get()))?)
}

fn set(table: &Table, name: &str, setting: &Setting) -> mlua::Result<()> {
    match setting {
        Setting::Bool(value) => table.set(name, *value),
        Setting::Number(value) => table.set(name, *value),
        Setting::Text(value) => table.set(name, value.as_str()),
        Setting::List(values) => table.set(name, values.as_slice()),
    }
}
