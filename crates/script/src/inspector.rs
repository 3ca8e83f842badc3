//! Inspects a script without running a load: what it declares, and what it makes of a report. The
//! script has a thread of its own, since a script that does not return control must not hold up the
//! caller.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use loadstone_protocol::Code;

use crate::request::{Answer, Request, Server};
use crate::user::{User, Wish};
use crate::{Command, Declared, ScriptError, ScriptPlan, Vm, Watches};

type Job = Box<dyn FnOnce(&mut Result<LoadedScript, ScriptError>, &Output) + Send>;

/// The output of the script, which outlives a script that could not be loaded.
type Output = Rc<RefCell<Vec<u8>>>;

/// Answers questions about a script.
#[derive(Debug)]
pub struct Inspector {
    jobs: Sender<Job>,
    watches: Watches,
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
    /// Whether it has an `init` to run before all users start.
    pub has_init: bool,
    /// Its output so far.
    pub printed: String,
}

/// The script as loaded in its thread.
struct LoadedScript {
    vm: Vm,
    user: User,
    server: Box<dyn Server>,
    printed: Output,
}

impl Inspector {
    /// Starts loading the script. While it is loaded it may query this server.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn open(
        mut plan: ScriptPlan,
        server: Option<Box<dyn Server + Send>>,
    ) -> std::io::Result<Self> {
        let watches = Watches::default();
        plan.watches = watches.clone();
        let (jobs, todo) = channel::<Job>();
        std::thread::Builder::new().name("script".to_owned()).spawn(move || {
            let printed = Output::default();
            let mut script = LoadedScript::of(plan, server, &printed);
            for job in todo {
                job(&mut script, &printed);
            }
        })?;
        Ok(Self { jobs, watches })
    }

    /// What the script declares; its output in the meantime is returned once.
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

    /// The output of the script's own function `help`, or else the list of its options.
    pub fn help(&self) -> Pending<String> {
        self.ask(LoadedScript::help)
    }

    /// The output of one of the reporting hooks for these figures.
    pub fn report(&self, wish: Wish) -> Pending<String> {
        self.ask(move |script| script.told(&wish))
    }

    /// What it prints after the last report.
    pub fn end_reports(&self) -> Pending<String> {
        self.ask(LoadedScript::end_reports)
    }

    /// What it printed before it failed.
    pub fn printed(&self) -> Pending<String> {
        let (answer, pending) = channel();
        let job: Job = Box::new(move |_, printed| drop(answer.send(Ok(take(printed)))));
        drop(self.jobs.send(job));
        pending
    }

    /// From now on this plan holds: its options are those to check, and those of `help`.
    pub fn give(&self, plan: ScriptPlan) {
        drop(self.ask(|script| {
            script.vm.replace_plan(plan);
            Ok(())
        }));
    }

    /// Interrupts the script, which is reported as an error.
    pub fn give_up(&self) {
        self.watches.living().iter().for_each(|watch| watch.break_off());
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut LoadedScript) -> Result<T, ScriptError> + Send + 'static,
    ) -> Pending<T> {
        let (answer, pending) = channel();
        let job: Job = Box::new(move |script, _| {
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
        printed: &Output,
    ) -> Result<Self, ScriptError> {
        let mut server: Box<dyn Server> = match server {
            Some(server) => server,
            None => Box::new(Nobody { gone: plan.gone }),
        };
        let out = printed.clone();
        let print = move |text: &[u8]| out.borrow_mut().extend_from_slice(text);
        let vm = Vm::new(Arc::new(plan), Rc::new(print))?;
        let mut user = vm.reader()?;
        while user.is_loading() {
            let answer = server.answer(&user.go_on_loading());
            user.resume(answer)?;
        }
        Ok(Self { vm, user, server, printed: printed.clone() })
    }

    fn contents(&mut self) -> Result<Contents, ScriptError> {
        Ok(Contents {
            options: self.vm.options(&self.user)?,
            commands: self.vm.commands(&self.user)?,
            functions: self.vm.functions(&self.user, &["prepare", "cleanup", "help"])?,
            hooks: self.vm.hooks(&self.user)?,
            has_init: !self.vm.functions(&self.user, &["init"])?.is_empty(),
            printed: self.take_printed(),
        })
    }

    fn check(&mut self) -> Result<(), ScriptError> {
        self.vm.configure(&mut self.user)?;
        if self.vm.is_run() { self.vm.check_run(&self.user) } else { Ok(()) }
    }

    fn help(&mut self) -> Result<String, ScriptError> {
        if self.vm.functions(&self.user, &["help"])?.is_empty() {
            self.vm.print_options(&self.user)?;
            return Ok(self.take_printed());
        }
        self.told(&Wish::Command("help".to_owned()))
    }

    fn end_reports(&mut self) -> Result<String, ScriptError> {
        self.vm.end_reports(&self.user)?;
        Ok(self.take_printed())
    }

    /// Has the script do something; returns its output.
    fn told(&mut self, wish: &Wish) -> Result<String, ScriptError> {
        let mut request = self.user.begin(wish)?;
        while !matches!(request, Request::Idle) {
            let answer = self.server.answer(&request);
            request = self.user.resume(answer)?;
        }
        Ok(self.take_printed())
    }

    fn take_printed(&self) -> String {
        take(&self.printed)
    }
}

fn take(printed: &Output) -> String {
    String::from_utf8_lossy(&std::mem::take(&mut *printed.borrow_mut())).into_owned()
}
