//! A virtual user in Lua: a coroutine that is started, makes requests, and is resumed with answers.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Table, Thread};

use crate::ScriptError;
use crate::configure::configure;
use crate::plan::ScriptPlan;
use crate::request::{Answer, Request};
use crate::state::State;

/// What a user can run: functions of its script. A function that the script does not have does
/// nothing.
#[derive(Clone, Debug)]
pub enum Wish {
    /// The file itself, from top to bottom.
    Load,
    /// `init()`, once for all users.
    Init,
    /// `thread_init()`, for each user.
    ThreadInit,
    /// Events, until [`Answer::NoMore`] or the script ends them.
    ThreadRun,
    /// `thread_done()`, for each user.
    ThreadDone,
    /// `done()`, once for all users.
    Done,
    /// The plan's command, or another one.
    Command(String),
    /// `sysbench.hooks.report_intermediate` with these figures.
    ReportIntermediate(Report),
    /// `sysbench.hooks.report_cumulative` with these figures.
    ReportCumulative(Report),
}

/// Figures by the names that scripts use for them.
pub type Report = BTreeMap<String, f64>;

impl Wish {
    /// The function of the script that an error names.
    fn hook(&self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Init => "init",
            Self::ThreadInit => "thread_init",
            Self::ThreadRun => "thread_run",
            Self::ThreadDone => "thread_done",
            Self::Done => "done",
            Self::Command(_) => "command",
            Self::ReportIntermediate(_) => "report_intermediate",
            Self::ReportCumulative(_) => "report_cumulative",
        }
    }
}

/// A virtual user: a coroutine with globals of its own.
pub struct User {
    state: Rc<State>,
    number: u64,
    record: Table,
    thread: Thread,
    hook: &'static str,
    /// The connection of the unanswered request.
    connection: u32,
    /// The file waits for a server in the middle: the plan whose options are set once it is loaded.
    loading: Option<Arc<ScriptPlan>>,
}

impl User {
    pub(crate) fn new(state: Rc<State>, number: u64, record: Table, thread: Thread) -> Self {
        Self { state, number, record, thread, hook: "load", connection: 0, loading: None }
    }

    /// Whether its file waits for a server in the middle. Nothing else can be started before it is loaded: see
    /// [`User::go_on_loading`].
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// What the file waits for, to be answered by [`User::resume`].
    pub fn go_on_loading(&self) -> Request<'_> {
        self.state.mailbox.request()
    }

    /// Starts loading its file. If that waits for a server, the options are set at its end.
    pub(crate) fn load(&mut self, plan: &Arc<ScriptPlan>) -> Result<(), ScriptError> {
        if !matches!(self.begin(&Wish::Load)?, Request::Idle) {
            self.loading = Some(plan.clone());
        }
        Ok(())
    }

    /// Its number, `sysbench.tid`.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn record(&self) -> &Table {
        &self.record
    }

    /// Starts one of its functions; returns what it waits for, [`Request::Idle`] if it is done
    /// already.
    ///
    /// # Errors
    /// The script raised an error. The user can run another function.
    pub fn begin(&mut self, wish: &Wish) -> Result<Request<'_>, ScriptError> {
        self.hook = wish.hook();
        match wish {
            Wish::Command(name) => self.wish(self.hook, name.as_str())?,
            Wish::ReportIntermediate(report) | Wish::ReportCumulative(report) => {
                let figures = self.state.table()?;
                for (name, value) in report {
                    figures.set(name.as_str(), *value)?;
                }
                let argument = self.state.table()?;
                argument.set(1, self.hook)?;
                argument.set(2, figures)?;
                self.wish("report", argument)?;
            }
            _ => self.wish(self.hook, mlua::Nil)?,
        }
        self.go_on()
    }

    /// Resumes it with what it waited for.
    ///
    /// # Errors
    /// The same as for [`User::begin`].
    pub fn resume(&mut self, answer: Answer<'_>) -> Result<Request<'_>, ScriptError> {
        if let Answer::Results(results) = answer {
            self.state.keep_further(self.connection, results);
        }
        self.state.mailbox.answer(answer);
        self.go_on()
    }

    /// Why it is not continued after it was asked to end.
    pub(crate) fn ended(&self) -> ScriptError {
        ScriptError::Ended { hook: self.hook, user: self.number }
    }

    /// The text of the prepared statement that it has asked to execute last.
    #[must_use]
    pub fn executing(&self) -> Option<String> {
        let text: Option<mlua::String> = self.state.call("executing", &self.record).ok()?;
        Some(text?.to_string_lossy())
    }

    /// Whether the script cancelled its last event by returning a true value.
    #[must_use]
    pub fn has_cancelled(&self) -> bool {
        self.state.mailbox.has_cancelled()
    }

    fn wish(&self, name: &str, argument: impl mlua::IntoLua) -> Result<(), ScriptError> {
        Ok(self.state.call("wish", (&self.record, name, argument))?)
    }

    fn go_on(&mut self) -> Result<Request<'_>, ScriptError> {
        let entered = self.state.watch.enter();
        let resumed = self.thread.resume::<()>(());
        drop(entered);
        if let Some(place) = self.state.watch.was_broken_off() {
            return Err(ScriptError::BrokenOff { hook: self.hook, user: self.number, place });
        }
        resumed?;
        let mailbox = &self.state.mailbox;
        self.connection = mailbox.connection();
        let is_idle = matches!(mailbox.request(), Request::Idle);
        if is_idle && mailbox.has_failed() {
            return Err(self.problem()?);
        }
        if is_idle && let Some(plan) = self.loading.take() {
            configure(&self.state, &plan, &self.record)?;
        }
        Ok(self.state.mailbox.request())
    }

    fn problem(&self) -> Result<ScriptError, ScriptError> {
        let message: String = self.state.call("problem", &self.record)?;
        Ok(match self.hook {
            "load" => ScriptError::Load { message },
            hook => ScriptError::Hook { hook, user: self.number, message },
        })
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // It holds nothing but memory; a state that cannot free it reports that on its next use.
        drop(self.state.call::<()>("forget", &self.record));
    }
}
