//! The state of a Lua script, as a watchdog thread sees it: a script that does not return control
//! can be located, named and interrupted.
//!
//! A hook is set from outside while the script runs. LuaJIT allows that from a signal handler
//! (`lua_sethook` in its manual), and its compiled loops check for it if it is built with
//! `LUAJIT_ENABLE_CHECKHOOK`, as in `.cargo/config.toml`.
#![expect(unsafe_code, reason = "hooks are a matter of LuaJIT's C interface alone")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mlua::{Lua, ffi};

/// The key under which a state keeps the address of its watch.
const KEY: &CStr = c"loadstone.watch";

/// The living states of a script, on all threads.
#[derive(Clone, Debug, Default)]
pub struct Watches(Arc<Mutex<Vec<Weak<Watch>>>>);

impl Watches {
    /// Each living state.
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

/// The watch of one state.
#[derive(Debug, Default)]
pub struct Watch {
    /// How often its thread has entered and left Lua: odd while it is inside.
    passages: AtomicU64,
    /// Whether `found` needs attention.
    is_touched: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// `None` once the state is closed.
    state: Option<Address>,
    shall_end: bool,
    /// The file and line that the script was running.
    place: Option<String>,
}

#[derive(Debug)]
struct Address(*mut ffi::lua_State);

// SAFETY: another thread only calls `lua_sethook` with it, under the lock that closing the state
// takes as well.
unsafe impl Send for Address {}

impl Watch {
    /// The number of the script's current turn; `None` while it waits.
    #[must_use]
    pub fn turn(&self) -> Option<u64> {
        let passages = self.passages.load(Ordering::Acquire);
        (passages % 2 == 1).then_some(passages)
    }

    /// Asks the script for its position: [`Watch::place`] returns it once the script has passed a
    /// line.
    pub fn ask_place(&self) {
        self.set_hook(false);
    }

    /// The file and line that the script was running; returned once.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        self.found().place.take()
    }

    /// Ends the script's current turn with an error that no `pcall` can catch.
    pub fn break_off(&self) {
        self.set_hook(true);
    }

    /// The watch of this state.
    ///
    /// # Errors
    /// LuaJIT is out of memory.
    pub(crate) fn of(lua: &Lua) -> mlua::Result<Arc<Self>> {
        let watch = Arc::new(Self::default());
        let address: *const Self = &raw const *watch;
        // SAFETY: a key and a value are pushed and popped again. Any of a state's threads can set
        // hooks, and this one lives as long as the state.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                ffi::lua_pushlightuserdata(state, address.cast_mut().cast::<c_void>());
                ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, KEY.as_ptr());
                watch.found().state = Some(Address(state));
            })?;
        }
        Ok(watch)
    }

    /// The script runs until the returned value is dropped.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.passages.fetch_add(1, Ordering::AcqRel);
        Inside(self)
    }

    /// Where the last turn was interrupted; clears the interruption.
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

    /// The hook was called in the script; returns whether to end it.
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
        // At every instruction: the error is raised again right after each `pcall` that has caught
        // it.
        let mask = if hook.is_some() { ffi::LUA_MASKCOUNT } else { 0 };
        // SAFETY: the state is open, and is not closed while `found` is held.
        unsafe { ffi::lua_sethook(*state, hook, mask, 1) };
    }
}

unsafe extern "C-unwind" fn met(state: *mut ffi::lua_State, activation: *mut ffi::lua_Debug) {
    // SAFETY: LuaJIT calls this with both. The error leaves no Rust value behind.
    unsafe {
        if tell(state, activation) {
            ffi::lua_pushstring(state, c"broken off".as_ptr());
            ffi::lua_error(state);
        }
    }
}

/// Records the position in the state's watch; returns whether to end the script.
///
/// # Safety
/// The same as for a hook.
unsafe fn tell(state: *mut ffi::lua_State, activation: *mut ffi::lua_Debug) -> bool {
    // SAFETY: a hook has room on the stack. The key was set when the state was created, to the
    // address of a watch that the state's owner keeps until it has closed the state.
    unsafe {
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, KEY.as_ptr());
        let watch = ffi::lua_touserdata(state, -1).cast::<Watch>();
        ffi::lua_settop(state, -2);
        (*watch).met(|| place_of(state, activation))
    }
}

/// # Safety
/// The same as for a hook.
unsafe fn place_of(state: *mut ffi::lua_State, activation: *mut ffi::lua_Debug) -> String {
    // SAFETY: `lua_getinfo` fills in the requested fields; the source is a NUL-terminated string.
    let (source, line) = unsafe {
        ffi::lua_getinfo(state, c"Sl".as_ptr(), activation);
        (CStr::from_ptr((*activation).source), (*activation).currentline)
    };
    let source = source.to_string_lossy();
    format!("{}:{line}", source.trim_start_matches(['@', '=']))
}
