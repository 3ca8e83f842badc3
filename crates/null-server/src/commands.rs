//! Answers each command of a client.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html>

use crate::answer::{Bytes, Reply, Then};
use crate::connection::{Came, Connection, Phase};
use crate::core::Core;
use crate::greeting::{greeting, wants_tls, wishes};
use crate::library::{Effect, Known};
use crate::log::{Kind, Outcome};
use crate::packet::{Message, put_error, put_ok, put_packet, renumber};
use crate::rows::{Form, Rows};
use crate::script::Script;
use crate::scripted_faults::Verdict;
use crate::settings::{Auth, Protocol};
use crate::sql::{Control, Sql, count_params, understand};

const COM_QUIT: u8 = 0x01;
const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_CHANGE_USER: u8 = 0x11;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_RESET: u8 = 0x1a;
const COM_RESET_CONNECTION: u8 = 0x1f;

/// ER_LOCK_DEADLOCK: the server has rolled back.
const DEADLOCK: u16 = 1213;
/// ER_UNKNOWN_COM_ERROR.
const UNKNOWN_COMMAND: u16 = 1047;
/// ER_UNKNOWN_STMT_HANDLER.
const UNKNOWN_STATEMENT: u16 = 1243;
/// ER_WRONG_VALUE_FOR_VAR.
const WRONG_VALUE: u16 = 1231;

impl Connection {
    /// Greets, or refuses.
    pub(crate) fn greet(&mut self, core: &mut Core) {
        if core.settings.protocol == Protocol::PostgreSql {
            return; // its clients speak first
        }
        let now = core.stamp();
        let reply = match core.faults.refusal(now) {
            None => {
                let nonce = core.nonce();
                let bytes = greeting(&core.settings, self.id, nonce);
                Reply::own(Kind::Greeting, Outcome::Done, bytes)
            }
            Some(errno) => {
                core.stats.refused += 1;
                let (mut out, mut sequence) = (Vec::new(), 0);
                let text = if errno == 1040 { "Too many connections" } else { "Refused by script" };
                put_error(&mut out, &mut sequence, errno, "", text);
                let reply = Reply::own(Kind::Greeting, Outcome::Error, out);
                Reply { errno, then: Then::Close, ..reply }
            }
        };
        self.answer(core, reply, Came { seen: now, whole: now });
    }

    pub(crate) fn on_message(&mut self, core: &mut Core, message: Message<'_>, came: Came) {
        if self.phase == Phase::Login {
            return self.log_in(core, message, came);
        }
        let Some((&command, body)) = message.payload.split_first() else {
            return self.garbled(core);
        };
        let reply = match command {
            COM_STMT_EXECUTE => {
                core.stats.executes += 1;
                Some(self.execute(core, body, came))
            }
            COM_QUERY => Some(self.query(core, body, came)),
            COM_STMT_PREPARE => Some(self.prepare(core, body)),
            COM_STMT_CLOSE => self.close_statement(core, body),
            COM_STMT_SEND_LONG_DATA => None,
            COM_QUIT => return self.close(core),
            _ => Some(self.other(core, command)),
        };
        if let Some(mut reply) = reply {
            if message.answer_sequence != 1 {
                let mut bytes = reply.bytes.get(&core.library).to_vec();
                renumber(&mut bytes, message.answer_sequence);
                reply.bytes = Bytes::Own(bytes);
            }
            self.answer(core, reply, came);
        }
    }

    fn log_in(&mut self, core: &mut Core, message: Message<'_>, came: Came) {
        if core.tls.is_some() && self.tls.is_none() && wants_tls(message.payload) {
            return self.begin_tls(core);
        }
        let Some(wishes) = wishes(message.payload) else { return self.garbled(core) };
        self.phase = Phase::Commands;
        self.shape.deprecate_eof = wishes.deprecate_eof;
        core.stats.logins += 1;
        let (mut out, mut sequence) = (Vec::new(), message.answer_sequence);
        let cached = core.settings.auth == Auth::CachingSha2Password && wishes.caching_sha2;
        if cached && !wishes.no_password {
            // AuthMoreData: the password is in the cache, nothing else is needed.
            put_packet(&mut out, &mut sequence, |out| out.extend_from_slice(&[0x01, 0x03]));
        }
        put_ok(&mut out, &mut sequence, 0, self.shape);
        self.answer(core, Reply::own(Kind::Login, Outcome::Done, out), came);
    }

    fn execute(&mut self, core: &mut Core, body: &[u8], came: Came) -> Reply {
        let id = body.first_chunk().map_or(0, |id| u32::from_le_bytes(*id));
        match self.statements.get((id as usize).wrapping_sub(1)) {
            Some(&Some(known)) => self.load(core, known, Form::Binary, came),
            _ => {
                let text = format!("Unknown prepared statement handler ({id}) given to EXECUTE");
                failed(Kind::Execute, UNKNOWN_STATEMENT, &text)
            }
        }
    }

    fn query(&mut self, core: &mut Core, statement: &[u8], came: Came) -> Reply {
        let sql = understand(statement);
        if let Some(known) = core.library.known(sql) {
            core.stats.queries += 1;
            return self.load(core, known, Form::Text, came);
        }
        core.stats.others += 1;
        match sql {
            Sql::Question(question) => {
                let rows =
                    core.question(question, self.id, self.tls.as_ref().and_then(|tls| tls.names()));
                self.rows(&rows)
            }
            Sql::Control(control) => self.control(core, control),
            _ => self.done(Kind::Administration),
        }
    }

    /// A load statement: answered as the script says, otherwise from the library.
    fn load(&mut self, core: &mut Core, known: Known, form: Form, came: Came) -> Reply {
        let kind = if form == Form::Binary { Kind::Execute } else { Kind::Query };
        if !core.faults.is_plain() {
            core.load_came(came.whole);
            match core.faults.verdict() {
                Verdict::Answer => {}
                Verdict::Error(rule) => return self.error_of(core, rule, kind),
                Verdict::Drop => {
                    let reply = Reply::own(kind, Outcome::Dropped, Vec::new());
                    return Reply { then: Then::Drop, ..reply };
                }
            }
        }
        match known.effect {
            Effect::Nothing => {}
            Effect::Opens => self.shape.in_transaction = true,
            Effect::Ends => self.shape.in_transaction = false,
        }
        let rows = core.library.has_rows(known.answer);
        let outcome = if rows { Outcome::Rows } else { Outcome::Done };
        Reply { kind, outcome, errno: 0, bytes: self.shared(known, form), then: Then::GoOn }
    }

    fn error_of(&mut self, core: &Core, rule: usize, kind: Kind) -> Reply {
        let (packet, errno) = core.faults.error(rule);
        if errno == DEADLOCK {
            self.shape.in_transaction = false;
        }
        Reply { errno, ..Reply::own(kind, Outcome::Error, packet.to_vec()) }
    }

    fn control(&mut self, core: &mut Core, control: Control<'_>) -> Reply {
        match control {
            Control::Status => return self.rows(&core.status_rows()),
            Control::Flush => core.flush(),
            Control::Script(text) => match Script::from_json(&String::from_utf8_lossy(text)) {
                Ok(script) => core.set_script(script),
                Err(error) => {
                    return failed(Kind::Administration, WRONG_VALUE, &error.to_string());
                }
            },
        }
        self.done(Kind::Administration)
    }

    fn prepare(&mut self, core: &mut Core, statement: &[u8]) -> Reply {
        core.stats.prepares += 1;
        let known = core.library.prepared(statement);
        let place = match self.statements.iter().position(Option::is_none) {
            Some(place) => place,
            None => {
                self.statements.push(None);
                self.statements.len() - 1
            }
        };
        self.statements[place] = Some(known);
        let params = count_params(statement);
        let id = place as u32 + 1;
        let bytes = core.library.prepare_answer(id, known, params, self.shape);
        Reply::own(Kind::Prepare, Outcome::Done, bytes)
    }

    /// Closing a statement has no answer.
    fn close_statement(&mut self, core: &mut Core, body: &[u8]) -> Option<Reply> {
        core.stats.closes += 1;
        let id = body.first_chunk().map_or(0, |id| u32::from_le_bytes(*id));
        if let Some(statement) = self.statements.get_mut((id as usize).wrapping_sub(1)) {
            *statement = None;
        }
        None
    }

    fn other(&mut self, core: &mut Core, command: u8) -> Reply {
        core.stats.others += 1;
        match command {
            COM_PING | COM_INIT_DB | COM_STMT_RESET => self.done(Kind::Other),
            COM_RESET_CONNECTION | COM_CHANGE_USER => {
                self.statements = Vec::new();
                self.shape.in_transaction = false;
                self.done(Kind::Other)
            }
            _ => failed(Kind::Other, UNKNOWN_COMMAND, "Unknown command"),
        }
    }

    fn done(&self, kind: Kind) -> Reply {
        let (mut out, mut sequence) = (Vec::new(), 1);
        put_ok(&mut out, &mut sequence, 0, self.shape);
        Reply::own(kind, Outcome::Done, out)
    }

    fn rows(&self, rows: &Rows) -> Reply {
        let bytes = rows.bytes(Form::Text, self.shape);
        Reply::own(Kind::Administration, Outcome::Rows, bytes)
    }
}

fn failed(kind: Kind, errno: u16, message: &str) -> Reply {
    let (mut out, mut sequence) = (Vec::new(), 1);
    put_error(&mut out, &mut sequence, errno, "HY000", message);
    Reply { errno, ..Reply::own(kind, Outcome::Error, out) }
}
