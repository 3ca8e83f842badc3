//! How long a script of sysbench keeps the event loop at most: its users take turns in one Lua state, and each turn
//! is timed by the thread's CPU clock. What LuaJIT's collector does at once is within one of them.
#![expect(clippy::print_stdout, reason = "a program, not a part of the library")]

use loadstone_protocol::{Code, ResultSet};
use loadstone_script::{
    Answer, IgnoredErrors, Request, ScriptError, ScriptPlan, Setting, User, Vm, Wish,
};
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::error::Error;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Counts the collector's rounds: each of them finds the proxy of the one before. At the end it goes through some rounds
/// step by step, and takes of each the longest step: what else runs on the machine lengthens some steps of some rounds,
/// what the collector does at once one of every round.
const COUNTING: &str = "
local rounds, watch = 0, nil
function watch()
  getmetatable(newproxy(true)).__gc = function() rounds = rounds + 1; watch() end
end
local function longest_step()
  local longest = 0
  repeat
    local before = os.clock()
    local is_over = collectgarbage('step', 0)
    longest = math.max(longest, os.clock() - before)
  until is_over
  return math.floor(longest * 1e6 + 0.5)
end
function thread_done()
  if sysbench.tid ~= 0 then return end
  local seen, steps = rounds, {}
  for round = 1, 31 do steps[round] = longest_step() end
  table.sort(steps)
  print(seen, steps[16])
end
watch()
";
/// LuaJIT compiles what is run often: each user has had so many events by then.
const WARMUP: u32 = 500;

/// What a user waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// For its next wish.
    Idle,
    ForEvent,
    ForRows,
    ForAnything,
}

impl Waits {
    fn of(request: &Request<'_>) -> Self {
        match request {
            Request::Idle => Self::Idle,
            Request::NextEvent => Self::ForEvent,
            Request::Query { .. } | Request::Execute { .. } => Self::ForRows,
            _ => Self::ForAnything,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().ok_or("usage: pauses SCRIPT USERS EVENTS");
    let (script, users, events) = (next()?, next()?.parse()?, next()?.parse()?);
    let folder = std::env::temp_dir().join(format!("loadstone-pauses-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = counting(&folder, &script).and_then(|plan| measure(plan, users, events));
    std::fs::remove_dir_all(&folder)?;
    println!("{}", measured?);
    Ok(())
}

/// The plan of a script that does what `script` does and counts the collector's rounds.
fn counting(folder: &Path, script: &str) -> Result<ScriptPlan, Box<dyn Error>> {
    let path = folder.join("counting.lua");
    let library = Path::new(script).parent().ok_or("the script is in no folder")?;
    let found = format!("package.path = \"{}/?.lua;\" .. package.path\n", library.display());
    let text = std::fs::read_to_string(script)?;
    // Lua takes a line for the shell only where a file begins.
    let comment = if text.starts_with('#') { "-- " } else { "" };
    std::fs::write(&path, found + comment + &text + COUNTING)?;
    let settings = [("threads", 1.0), ("mysql_port", 3306.0)];
    let general = settings.map(|(name, value)| (name.to_owned(), Setting::Number(value)));
    Ok(ScriptPlan {
        script: path.to_str().ok_or("the folder's name is not UTF-8")?.to_owned(),
        command: Some("run".to_owned()),
        general: general.into(),
        ignored_errors: IgnoredErrors::These([1213, 1020, 1205].map(Code::of_number).into()),
        gone: Code::of_number(2006),
        ..ScriptPlan::default()
    })
}

/// Drives the users in turn, as an event loop does; returns the figures as JSON.
fn measure(plan: ScriptPlan, users: u32, events: u32) -> Result<String, Box<dyn Error>> {
    let printed = Rc::new(RefCell::new(Vec::new()));
    let heard = printed.clone();
    let plan = ScriptPlan { users: u64::from(users), ..plan };
    let output = Rc::new(move |text: &[u8]| heard.borrow_mut().extend_from_slice(text));
    let mut vm = Vm::new(Arc::new(plan), output)?;
    let mut all =
        (0..u64::from(users)).map(|number| vm.user(number)).collect::<Result<Vec<_>, _>>()?;
    let row = one_row();
    for user in &mut all {
        let mut waits = Waits::of(&user.begin(&Wish::ThreadInit)?);
        while waits != Waits::Idle {
            waits = go_on(user, waits, &row)?;
        }
        user.begin(&Wish::ThreadRun)?;
    }
    for _ in 0..WARMUP {
        for user in &mut all {
            event(user, &row, &mut |_| {})?;
        }
    }
    let mut turns: Vec<u64> = Vec::new();
    for _ in 0..events {
        for user in &mut all {
            event(user, &row, &mut |nanos| turns.push(nanos))?;
        }
    }
    for user in &mut all {
        user.resume(Answer::NoMore)?;
        user.begin(&Wish::ThreadDone)?;
    }
    let printed = printed.borrow();
    let mut words = std::str::from_utf8(&printed)?.split_whitespace();
    let mut printed = || words.next().ok_or("the script printed too little");
    let (rounds, step): (u64, f64) = (printed()?.parse()?, printed()?.parse()?);
    turns.sort_unstable();
    let at = |share: f64| turns[((turns.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    Ok(format!(
        "{{\"users\": {users}, \"events\": {events}, \"turns\": {}, \"rounds\": {rounds}, \
         \"step_us\": {step}, \"median_us\": {}, \"p9999_us\": {}, \"longest_us\": {}}}",
        turns.len(),
        at(0.5),
        at(0.9999),
        at(1.0)
    ))
}

/// One event of a user that waits for it; `took` gets the CPU nanoseconds of each turn.
fn event(user: &mut User, row: &[ResultSet], took: &mut dyn FnMut(u64)) -> Result<(), ScriptError> {
    let mut waits = Waits::ForEvent;
    loop {
        let before = thread_cpu();
        waits = go_on(user, waits, row)?;
        took(thread_cpu() - before);
        if waits == Waits::ForEvent {
            return Ok(());
        }
    }
}

fn go_on(user: &mut User, waits: Waits, row: &[ResultSet]) -> Result<Waits, ScriptError> {
    let answer = if waits == Waits::ForRows { Answer::Results(row) } else { Answer::Done };
    Ok(Waits::of(&user.resume(answer)?))
}

/// The answer to a point select, as text.
fn one_row() -> [ResultSet; 1] {
    let mut bytes = vec![119];
    bytes.extend_from_slice(&[b'5'; 119]);
    [ResultSet { columns: 1, rows: 1, bytes, ..ResultSet::default() }]
}

fn thread_cpu() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
