//! A script outside of a load: what it declares, what it makes of a report, and what runs once:
//! commands, `init()` and `done()`. The script has a thread of its own, since a script that does not return control must
//! not hold up the caller.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadstone_protocol::Code;

use crate::request::{Answer, Request, Server};
use crate::user::{User, Wish};
use crate::{Command, Declared, ScriptError, ScriptPlan, Vm, Watches};

type Job = Box<dyn FnOnce(&mut Result<LoadedScript, ScriptError>) + Send>;

/// Answers questions about a script, and has it run commands.
#[derive(Debug)]
pub struct Inspector {
    jobs: Sender<Job>,
    watches: Watches,
    said: Transcript,
    is_to_end: Arc<AtomicBool>,
}

/// What a script lets the user know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Its output.
    Printed(Vec<u8>),
    /// The server has refused what it asked for.
    Refused {
        /// The text of the prepared statement that it has asked to execute, if that was refused.
        executing: Option<String>,
    },
}

/// What a script has said, in order; it can be taken while the script runs, and after it has failed.
#[derive(Clone, Debug, Default)]
struct Transcript(Arc<Mutex<Vec<Said>>>);

impl Transcript {
    fn print(&self, text: &[u8]) {
        let mut said = self.lock();
        if let Some(Said::Printed(last)) = said.last_mut() {
            last.extend_from_slice(text);
        } else {
            said.push(Said::Printed(text.to_vec()));
        }
    }

    fn refuse(&self, executing: Option<String>) {
        self.lock().push(Said::Refused { executing });
    }

    fn take(&self) -> Vec<Said> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Said>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pending answer; [`Inspector::give_up`] ends the wait with an error.
pub type Pending<T> = Receiver<Result<T, ScriptError>>;

/// What a script declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its options, sorted by name; `None` if it declares none and takes any.
    pub options: Option<Vec<Declared>>,
    /// Its declared commands.
    pub commands: BTreeMap<String, Command>,
    /// Those of the standard commands that it has as functions.
    pub functions: Vec<&'static str>,
    /// The names of its hooks.
    pub hooks: Vec<String>,
}

/// The script as loaded in its thread.
struct LoadedScript {
    vm: Vm,
    user: User,
    server: Box<dyn Server>,
    said: Transcript,
    is_to_end: Arc<AtomicBool>,
}

impl Inspector {
    /// Starts loading the script, which may query this server.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn open(
        mut plan: ScriptPlan,
        server: Option<Box<dyn Server + Send>>,
    ) -> std::io::Result<Self> {
        let (watches, said) = (Watches::default(), Transcript::default());
        plan.watches = watches.clone();
        let (jobs, todo) = channel::<Job>();
        let is_to_end = Arc::<AtomicBool>::default();
        let (transcript, ending) = (said.clone(), is_to_end.clone());
        std::thread::Builder::new().name("script".to_owned()).spawn(move || {
            let mut script = LoadedScript::of(plan, server, transcript, ending);
            for job in todo {
                job(&mut script);
            }
        })?;
        Ok(Self { jobs, watches, said, is_to_end })
    }

    /// What it has said since the last call.
    #[must_use]
    pub fn said(&self) -> Vec<Said> {
        self.said.take()
    }

    /// Its states, for a watchdog.
    #[must_use]
    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// What the script declares.
    pub fn contents(&self) -> Pending<Contents> {
        self.ask(LoadedScript::contents)
    }

    /// From now on it may query this server.
    pub fn serve(&self, server: impl Server + Send + 'static) {
        let server: Box<dyn Server + Send> = Box::new(server);
        drop(self.ask(move |script| {
            script.server = server;
            Ok(())
        }));
    }

    /// Checks that the script has the plan's options, and, if the plan's command is `run`, that
    /// there is something to run.
    pub fn check(&self) -> Pending<()> {
        self.ask(LoadedScript::check)
    }

    /// Has it print its help: by its own function `help`, or else the list of its options.
    pub fn help(&self) -> Pending<()> {
        self.ask(LoadedScript::help)
    }

    /// Has it do this: run a command, `init()` or `done()`, or word a report.
    pub fn carry_out(&self, wish: Wish) -> Pending<()> {
        self.ask(move |script| script.carry_out(&wish))
    }

    /// Has it print what follows its last report.
    pub fn end_reports(&self) -> Pending<()> {
        self.ask(LoadedScript::end_reports)
    }

    /// Closes its connections: from now on there is no server.
    pub fn release(&self) -> Pending<()> {
        self.ask(|script| {
            script.server = Box::new(Nobody { gone: script.vm.gone() });
            Ok(())
        })
    }

    /// From now on this plan holds: its options are those to check, and those of `help`.
    pub fn give(&self, plan: ScriptPlan) {
        drop(self.ask(|script| {
            script.vm.replace_plan(plan);
            Ok(())
        }));
    }

    /// Ends what the script does, which is reported as an error: nothing is asked of a server any
    /// more.
    pub fn give_up(&self) {
        self.is_to_end.store(true, Ordering::Release);
        self.watches.living().iter().for_each(|watch| watch.break_off());
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut LoadedScript) -> Result<T, ScriptError> + Send + 'static,
    ) -> Pending<T> {
        let (answer, pending) = channel();
        let job: Job = Box::new(move |script| {
            let told = match script {
                Ok(script) => question(script),
                Err(error) => Err(error.clone()),
            };
            // The caller may have given up.
            drop(answer.send(told));
        });
        // The thread outlives this value: it receives the job.
        drop(self.jobs.send(job));
        pending
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Stands in for a missing server: a script may connect, but no statement is executed.
struct Nobody {
    /// The code of a lost connection.
    gone: Code,
}

impl Server for Nobody {
    fn answer(&mut self, request: &Request<'_>) -> Answer<'_> {
        match request {
            Request::NextEvent => Answer::NoMore,
            Request::Query { .. } | Request::Prepare { .. } | Request::Execute { .. } => {
                Answer::Refused {
                    code: self.gone,
                    sql_state: *b"HY000",
                    message: "there is no server for this part of the script",
                }
            }
            _ => Answer::Done,
        }
    }
}

impl LoadedScript {
    fn of(
        plan: ScriptPlan,
        server: Option<Box<dyn Server + Send>>,
        said: Transcript,
        is_to_end: Arc<AtomicBool>,
    ) -> Result<Self, ScriptError> {
        let server: Box<dyn Server> = match server {
            Some(server) => server,
            None => Box::new(Nobody { gone: plan.gone }),
        };
        let out = said.clone();
        let vm = Vm::new(Arc::new(plan), Rc::new(move |text: &[u8]| out.print(text)))?;
        let user = vm.once()?;
        let mut script = Self { vm, user, server, said, is_to_end };
        if script.user.is_loading() {
            script.attend(|user| Ok(user.go_on_loading()))?;
        }
        Ok(script)
    }

    fn contents(&mut self) -> Result<Contents, ScriptError> {
        Ok(Contents {
            options: self.vm.options(&self.user)?,
            commands: self.vm.commands(&self.user)?,
            functions: self.vm.functions(&self.user, &["prepare", "cleanup", "help"])?,
            hooks: self.vm.hooks(&self.user)?,
        })
    }

    fn check(&mut self) -> Result<(), ScriptError> {
        self.vm.configure(&mut self.user)?;
        if self.vm.is_run() { self.vm.check_run(&self.user) } else { Ok(()) }
    }

    fn help(&mut self) -> Result<(), ScriptError> {
        if self.vm.functions(&self.user, &["help"])?.is_empty() {
            return self.vm.print_options(&self.user);
        }
        self.carry_out(&Wish::Command("help".to_owned()))
    }

    fn end_reports(&mut self) -> Result<(), ScriptError> {
        self.vm.end_reports(&self.user)
    }

    fn carry_out(&mut self, wish: &Wish) -> Result<(), ScriptError> {
        self.attend(|user| user.begin(wish))
    }

    /// Answers the user's requests, from the one with which it begins, until it has none.
    fn attend(
        &mut self,
        begin: impl FnOnce(&mut User) -> Result<Request<'_>, ScriptError>,
    ) -> Result<(), ScriptError> {
        let mut request = begin(&mut self.user)?;
        while !matches!(request, Request::Idle) {
            let executes = matches!(request, Request::Execute { .. });
            if self.is_to_end.load(Ordering::Acquire) {
                return Err(self.user.ended());
            }
            let answer = self.server.answer(&request);
            if self.is_to_end.load(Ordering::Acquire) {
                return Err(self.user.ended());
            }
            if matches!(answer, Answer::Refused { .. }) {
                self.said.refuse(if executes { self.user.executing() } else { None });
            }
            request = self.user.resume(answer)?;
        }
        Ok(())
    }
}
