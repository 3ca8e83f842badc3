//! The state of a Lua script, as a watchdog thread sees it: a script that does not return control
//! can be located, named and interrupted.
//!
//! A hook is set while the script runs, by a signal handler in the script's own thread: LuaJIT
//! allows that (`lua_sethook` in its manual), and no other thread ever touches a state. Its compiled
//! loops check for hooks if it is built with `LUAJIT_ENABLE_CHECKHOOK`, as in `.cargo/config.toml`.
#![expect(unsafe_code, reason = "signals, and hooks that only LuaJIT's C interface has")]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use libc::{pid_t, siginfo_t};
use mlua::{Lua, ffi};

/// The key under which a state keeps the address of its watch.
const KEY: &CStr = c"loadstone.watch";

/// Interrupts a script. The kernel ignores this signal by default and nothing else here uses it, so
/// that one which comes too late does no harm.
const SIGNAL: c_int = libc::SIGURG;

thread_local! {
    /// The watch whose script this thread runs; null while it runs none. It needs no destructor, so
    /// that a signal handler may read it at any time.
    static RUNNING: Cell<*const Watch> = const { Cell::new(ptr::null()) };
}

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
#[derive(Debug)]
pub struct Watch {
    /// The kernel's number of the thread that the state belongs to.
    thread: pid_t,
    /// Any of the state's Lua threads; null until it is known. Only `thread` uses it.
    state: AtomicPtr<ffi::lua_State>,
    /// How often `thread` has entered and left Lua: odd while it is inside.
    passages: AtomicU64,
    /// The [`Interruption`] that somebody asked for last; 0 if there is none.
    wanted: AtomicU64,
    /// The file and line that the script was running.
    place: Mutex<Option<String>>,
}

/// An interruption of one turn: twice the turn's number, plus 1 to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interruption(u64);

impl Interruption {
    fn new(turn: u64, shall_end: bool) -> Self {
        Self(turn << 1 | u64::from(shall_end))
    }

    fn is_of(self, turn: u64) -> bool {
        self.0 >> 1 == turn
    }

    fn shall_end(self) -> bool {
        self.0 & 1 == 1
    }
}

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
        self.interrupt(false);
    }

    /// The file and line that the script was running; returned once.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        self.known_place().take()
    }

    /// Ends the script's current turn with an error that no `pcall` can catch.
    pub fn break_off(&self) {
        self.interrupt(true);
    }

    /// The watch of this state, which belongs to the calling thread.
    ///
    /// # Errors
    /// LuaJIT is out of memory, or the signal has no handler.
    pub(crate) fn of(lua: &Lua) -> mlua::Result<Arc<Self>> {
        handle_signal().map_err(mlua::Error::external)?;
        let watch = Arc::new(Self {
            // SAFETY: gettid(2) has no precondition.
            thread: unsafe { libc::syscall(libc::SYS_gettid) } as pid_t,
            state: AtomicPtr::default(),
            passages: AtomicU64::default(),
            wanted: AtomicU64::default(),
            place: Mutex::default(),
        });
        let address: *const Self = &raw const *watch;
        // SAFETY: a key and a value are pushed and popped again. Any of a state's threads can set
        // hooks, and this one lives as long as the state.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                ffi::lua_pushlightuserdata(state, address.cast_mut().cast::<c_void>());
                ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, KEY.as_ptr());
                watch.state.store(state, Ordering::Release);
            })?;
        }
        Ok(watch)
    }

    /// The script runs until the returned value is dropped.
    pub(crate) fn enter(&self) -> Inside<'_> {
        let outer = RUNNING.replace(self);
        self.passages.fetch_add(1, Ordering::AcqRel);
        Inside { watch: self, outer }
    }

    /// Where the last turn was interrupted; clears the interruption.
    pub(crate) fn was_broken_off(&self) -> Option<String> {
        if self.wanted.load(Ordering::Acquire) == 0 {
            return None;
        }
        let wanted = Interruption(self.wanted.swap(0, Ordering::AcqRel));
        self.set_hook(None);
        let place = self.known_place().take();
        let last_turn = self.passages.load(Ordering::Acquire) - 1;
        let is_end = wanted.is_of(last_turn) && wanted.shall_end();
        is_end.then(|| place.unwrap_or_else(|| "?".to_owned()))
    }

    fn interrupt(&self, shall_end: bool) {
        let Some(turn) = self.turn() else { return };
        *self.known_place() = None;
        self.wanted.store(Interruption::new(turn, shall_end).0, Ordering::Release);
        // SAFETY: tgkill(2) takes numbers only. If the thread has ended, no other process's thread
        // gets the signal, and in one of ours it does nothing.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, SIGNAL) };
    }

    /// The interruption of the current turn, if somebody asked for one.
    fn wanted_now(&self) -> Option<Interruption> {
        let wanted = Interruption(self.wanted.load(Ordering::Acquire));
        self.turn().filter(|turn| wanted.is_of(*turn)).map(|_| wanted)
    }

    /// The hook was called in the script; returns whether to end it.
    fn met(&self, place: impl FnOnce() -> String) -> bool {
        let Some(wanted) = self.wanted_now() else {
            // It was set just as an earlier turn ended.
            self.set_hook(None);
            return false;
        };
        self.known_place().get_or_insert_with(place);
        if !wanted.shall_end() {
            self.set_hook(None);
        }
        wanted.shall_end()
    }

    /// Called by the state's own thread only, also in a signal handler.
    fn set_hook(&self, hook: Option<ffi::lua_Hook>) {
        // At every instruction: the error is raised again right after each `pcall` that has caught
        // it.
        let mask = if hook.is_some() { ffi::LUA_MASKCOUNT } else { 0 };
        // SAFETY: the state is open, as a turn of it is under way or has just ended, and no other
        // thread uses it.
        unsafe { ffi::lua_sethook(self.state.load(Ordering::Acquire), hook, mask, 1) };
    }

    fn known_place(&self) -> MutexGuard<'_, Option<String>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Watch::enter`].
pub(crate) struct Inside<'a> {
    watch: &'a Watch,
    /// What the thread ran before.
    outer: *const Watch,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        RUNNING.set(self.outer);
        self.watch.passages.fetch_add(1, Ordering::AcqRel);
    }
}

/// Makes sure that the process handles the signal. Handlers that others have set are called too.
fn handle_signal() -> io::Result<()> {
    static IS_HANDLED: Mutex<bool> = Mutex::new(false);
    let mut is_handled = IS_HANDLED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_handled {
        // SAFETY: what it calls is safe in a signal handler: it reads a number of this thread and
        // atomics, takes no lock and no memory, and LuaJIT allows `lua_sethook` there.
        unsafe { signal_hook_registry::register_sigaction(SIGNAL, on_signal)? };
        *is_handled = true;
    }
    Ok(())
}

fn on_signal(signal: &siginfo_t) {
    // Signals for the process reach any thread, and are not ours.
    if signal.si_code != libc::SI_TKILL {
        return;
    }
    // SAFETY: it is null or the watch that `Inside` of this very thread borrows.
    let running = unsafe { RUNNING.get().as_ref() };
    if let Some(watch) = running.filter(|watch| watch.wanted_now().is_some()) {
        watch.set_hook(Some(met));
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
