//! A script with a stand-in for the server.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loadstone_protocol::{Code, Param, ResultSet};
use loadstone_script::{
    Answer, IgnoredErrors, Parameters, Request, ScriptError, ScriptPlan, User, Vm, Wish,
};

/// The stand-in's answer.
pub(crate) enum Said {
    Done,
    NoMore,
    Refused(u16, &'static str),
    Results(Vec<ResultSet>),
}

/// Answers everything with success, and allows this many events.
pub(crate) fn events(mut left: u32) -> impl FnMut(&str) -> Said {
    move |request| match request {
        "next event" if left == 0 => Said::NoMore,
        "next event" => {
            left -= 1;
            Said::Done
        }
        _ => Said::Done,
    }
}

/// A result of text values.
pub(crate) fn rows(rows: &[&[Option<&str>]]) -> ResultSet {
    let mut bytes = Vec::new();
    for value in rows.iter().copied().flatten() {
        match value {
            None => bytes.push(0xfb),
            Some(text) if text.len() < 0xfb => {
                bytes.push(text.len() as u8);
                bytes.extend_from_slice(text.as_bytes());
            }
            Some(text) => {
                bytes.push(0xfc);
                bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
    }
    let columns = rows.first().map_or(0, |row| row.len() as u16);
    ResultSet { columns, rows: rows.len() as u64, bytes, ..ResultSet::default() }
}

/// A script in a file of its own, which is removed with this value.
pub(crate) struct Script {
    folder: PathBuf,
    pub(crate) plan: ScriptPlan,
    pub(crate) printed: Rc<RefCell<String>>,
}

impl Script {
    pub(crate) fn new(source: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("lua-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the script");
        let mut script = Self::at(&folder.join("script.lua"));
        script.add("script.lua", source);
        script.folder = folder;
        script
    }

    /// A script that exists already.
    pub(crate) fn at(path: &Path) -> Self {
        let plan = ScriptPlan {
            script: path.to_str().expect("a path in UTF-8").to_owned(),
            command: Some("run".to_owned()),
            users: 4,
            seed: 42,
            version: "1.0.20".to_owned(),
            ignored_errors: IgnoredErrors::These([1213, 1020, 1205].map(Code::of_number).into()),
            gone: Code::of_number(2006),
            ..ScriptPlan::default()
        };
        Self { folder: PathBuf::new(), plan, printed: Rc::default() }
    }

    /// Another file next to it.
    pub(crate) fn add(&self, name: &str, source: &str) {
        let path = Path::new(&self.plan.script).with_file_name(name);
        std::fs::write(path, source).expect("the script can be written");
    }

    pub(crate) fn vm(&self) -> Vm {
        let printed = self.printed.clone();
        let output = move |text: &[u8]| {
            printed.borrow_mut().push_str(&String::from_utf8_lossy(text));
        };
        Vm::new(Arc::new(self.plan.clone()), Rc::new(output)).expect("a state")
    }

    pub(crate) fn user(&self) -> Result<User, ScriptError> {
        self.vm().user(0)
    }

    /// The requests and output of the script's user 0 when it is initialised and given this many
    /// events.
    pub(crate) fn run(&self, count: u32) -> Result<Vec<String>, ScriptError> {
        let mut user = self.user()?;
        let mut server = events(count);
        let mut seen = serve(&mut user, &Wish::ThreadInit, &mut server)?;
        seen.extend(serve(&mut user, &Wish::ThreadRun, &mut server)?);
        seen.extend(serve(&mut user, &Wish::ThreadDone, &mut server)?);
        Ok(seen)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if self.folder != PathBuf::new() {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

/// Runs the function; returns the requests in between, without the events.
pub(crate) fn serve(
    user: &mut User,
    wish: &Wish,
    server: &mut dyn FnMut(&str) -> Said,
) -> Result<Vec<String>, ScriptError> {
    let mut seen = Vec::new();
    let mut request = shown(&user.begin(wish)?);
    while let Some(text) = request {
        let said = server(&text);
        seen.push(text);
        let answer = match &said {
            Said::Done => Answer::Done,
            Said::NoMore => Answer::NoMore,
            Said::Refused(number, message) => {
                Answer::Refused { code: Code::of_number(*number), sql_state: *b"HY000", message }
            }
            Said::Results(results) => Answer::Results(results),
        };
        request = shown(&user.resume(answer)?);
    }
    seen.retain(|text| text != "next event");
    Ok(seen)
}

/// A request as a line; `None` if there is no further request.
fn shown(request: &Request<'_>) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match *request {
        Request::Idle => return None,
        Request::NextEvent => "next event".to_owned(),
        Request::EventOver => "event over".to_owned(),
        Request::Sleep { nanos } => format!("sleep {} ms", nanos / 1_000_000),
        Request::Count { counter } => format!("count {counter}"),
        Request::Connect { .. } => "connect".to_owned(),
        Request::Disconnect { .. } => "disconnect".to_owned(),
        Request::Reconnect { .. } => "reconnect".to_owned(),
        Request::Query { sql, .. } => text(sql),
        Request::Prepare { sql, parameters, .. } if parameters.iter().next().is_none() => {
            format!("prepare {}", text(sql))
        }
        Request::Prepare { sql, parameters, .. } => {
            format!("prepare {} for ({})", text(sql), values_text(parameters))
        }
        Request::Execute { parameters, .. } => format!("execute({})", values_text(parameters)),
        Request::CloseStatement { .. } => "close".to_owned(),
    })
}

fn values_text(parameters: Parameters<'_>) -> String {
    parameters.iter().map(value_text).collect::<Vec<_>>().join(", ")
}

fn value_text(value: Param<'_>) -> String {
    match value {
        Param::Null => "NULL".to_owned(),
        Param::Int(value) => value.to_string(),
        Param::Double(value) => format!("{value:?}"),
        Param::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
    }
}

/// What two users of one state print when they are initialised.
pub(crate) fn printed_by_two(source: &str) -> String {
    let script = Script::new(&format!("{source} function event() end"));
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("the first"), vm.user(1).expect("the second")];
    for user in &mut users {
        serve(user, &Wish::ThreadInit, &mut events(0)).expect("init");
    }
    script.printed.borrow().clone()
}
