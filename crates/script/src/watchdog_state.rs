//! The state of a Lua script that a watchdog thread may look at: one that does not come back can be found, named and
//! broken off.
//!
//! A hook is set from outside while the script runs. LuaJIT allows that of a signal's handler
//! (`lua_sethook` in its manual), and its compiled loops look for it where it is built with
//! `LUAJIT_ENABLE_CHECKHOOK`, as `.cargo/config.toml` has it.
#![expect(unsafe_code, reason = "hooks are a matter of LuaJIT's C interface alone")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mlua::{Lua, ffi};

/// Where a state keeps the address of its watch.
const KEY: &CStr = c"loadstone.watch";

/// The states of a script that are alive, on whatever threads.
#[derive(Clone, Debug, Default)]
pub struct Watches(Arc<Mutex<Vec<Weak<Watch>>>>);

impl Watches {
    /// Each of them.
    #[must_use]
    pub fn living(&self) -> Vec<Arc<Watch>> {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| watch.strong_count() > 0);
        watches.iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn add(&self, watch: &Arc<Watch>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(watch));
    }
}

/// One of them.
#[derive(Debug, Default)]
pub struct Watch {
    /// How often its thread has gone into Lua and come back: odd while it is in there.
    passages: AtomicU64,
    /// Whether there is anything in `found` to look at.
    is_touched: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// `None` once the state is closed.
    state: Option<Address>,
    shall_end: bool,
    /// File and line where the script was met.
    place: Option<String>,
}

#[derive(Debug)]
struct Address(*mut ffi::lua_State);

// SAFETY: the one thing that another thread does with it is `lua_sethook`, under the lock that closing
// the state takes as well.
unsafe impl Send for Address {}

impl Watch {
    /// The number of the turn that the script is in; `None` while it waits.
    #[must_use]
    pub fn turn(&self) -> Option<u64> {
        let passages = self.passages.load(Ordering::Acquire);
        (passages % 2 == 1).then_some(passages)
    }

    /// Have the script say where it is: [`Watch::place`] knows when it has passed a line.
    pub fn ask_place(&self) {
        self.set_hook(false);
    }

    /// File and line where the script was met, once.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        self.found().place.take()
    }

    /// End the turn that the script is in by an error that no `pcall` holds.
    pub fn break_off(&self) {
        self.set_hook(true);
    }

    /// For this state.
    ///
    /// # Errors
    /// LuaJIT has no memory.
    pub(crate) fn of(lua: &Lua) -> mlua::Result<Arc<Self>> {
        let watch = Arc::new(Self::default());
        let address: *const Self = &raw const *watch;
        // SAFETY: a key and a value are pushed and taken off again. Of a state's threads any serves to
        // set hooks, and this one lives as long as the state.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                ffi::lua_pushlightuserdata(state, address.cast_mut().cast::<c_void>());
                ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, KEY.as_ptr());
                watch.found().state = Some(Address(state));
            })?;
        }
        Ok(watch)
    }

    /// The script goes on until what is returned is dropped.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.passages.fetch_add(1, Ordering::AcqRel);
        Inside(self)
    }

    /// Where the turn that is over was broken off; the state is as before then.
    pub(crate) fn was_broken_off(&self) -> Option<String> {
        if !self.is_touched.load(Ordering::Acquire) {
            return None;
        }
        let mut found = self.found();
        self.is_touched.store(false, Ordering::Release);
        set_hook(&found, None);
        let place = found.place.take();
        std::mem::take(&mut found.shall_end).then(|| place.unwrap_or_else(|| "?".to_owned()))
    }

    /// The state is about to be closed.
    pub(crate) fn close(&self) {
        self.found().state = None;
    }

    fn set_hook(&self, shall_end: bool) {
        let mut found = self.found();
        if self.turn().is_none() {
            return;
        }
        (found.shall_end, found.place) = (shall_end, None);
        self.is_touched.store(true, Ordering::Release);
        set_hook(&found, Some(met));
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script was met; whether it shall end.
    fn met(&self, place: impl FnOnce() -> String) -> bool {
        let mut found = self.found();
        found.place.get_or_insert_with(place);
        if !found.shall_end {
            set_hook(&found, None);
        }
        found.shall_end
    }
}

/// See [`Watch::enter`].
pub(crate) struct Inside<'a>(&'a Watch);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.passages.fetch_add(1, Ordering::AcqRel);
    }
}

fn set_hook(found: &Found, hook: Option<ffi::lua_Hook>) {
    if let Some(Address(state)) = &found.state {
        // At every instruction: the error is raised again right behind each `pcall` that has caught it.
        let mask = if hook.is_some() { ffi::LUA_MASKCOUNT } else { 0 };
        // SAFETY: the state is open, and is not closed while `found` is held.
        unsafe { ffi::lua_sethook(*state, hook, mask, 1) };
    }
}

unsafe extern "C-unwind" fn met(state: *mut ffi::lua_State, activation: *mut ffi::lua_Debug) {
    // SAFETY: LuaJIT calls this with both. The error leaves no value of ours behind.
    unsafe {
        if tell(state, activation) {
            ffi::lua_pushstring(state, c"broken off".as_ptr());
            ffi::lua_error(state);
        }
    }
}

/// Tells the state's watch where it is; whether it shall end.
///
/// # Safety
/// As for a hook.
unsafe fn tell(state: *mut ffi::lua_State, activation: *mut ffi::lua_Debug) -> bool {
    // SAFETY: a hook has room on the stack. The key was set when the state was made, to the address
    // of a watch that the state's owner keeps until it has closed the state.
    unsafe {
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, KEY.as_ptr());
        let watch = ffi::lua_touserdata(state, -1).cast::<Watch>();
        ffi::lua_settop(state, -2);
        (*watch).met(|| place_of(state, activation))
    }
}

/// # Safety
/// As for a hook.
unsafe fn place_of(state: *mut ffi::lua_State, activation: *mut ffi::lua_Debug) -> String {
    // SAFETY: `lua_getinfo` fills in what it is asked for; the source is a string with an end.
    let (source, line) = unsafe {
        ffi::lua_getinfo(state, c"Sl".as_ptr(), activation);
        (CStr::from_ptr((*activation).source), (*activation).currentline)
    };
    let source = source.to_string_lossy();
    format!("{}:{line}", source.trim_start_matches(['@', '=']))
}
