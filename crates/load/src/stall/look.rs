//! Looks at a silent statement over another connection, which must answer quickly.

use super::Board;
use crate::finding::{Finding, is_refusal};
use loadstone_drive::client::{Beat, Client, Halt};
use loadstone_measure::Nanos;

/// The other connection.
pub(super) struct Looker<'a> {
    board: &'a Board,
    limit: Nanos,
    client: Option<Client>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(board: &'a Board, limit: Nanos) -> Self {
        Self { board, limit, client: None }
    }

    /// No statement is silent any more.
    pub(super) fn rest(&mut self) {
        if let Some(client) = self.client.take() {
            client.quit();
        }
    }

    /// What can be seen of a statement. `own`: the load's connections.
    pub(super) fn look(&mut self, beat: &Beat, own: &[u32]) -> Finding {
        match self.try_look(beat, own) {
            Ok(finding) => finding,
            Err(halt) => {
                self.client = None;
                let why = match halt {
                    Halt::Stopped => "the load is being stopped".to_owned(),
                    Halt::Failed(failure) => failure.message,
                };
                let waits_for = match beat.connection {
                    Some(_) => format!(
                        "the server, which does not answer another connection either: {why}"
                    ),
                    None => format!("the server: {why}"),
                };
                Finding { waits_for, ..Finding::default() }
            }
        }
    }

    /// Kills the statement at the server, if it is still ours.
    pub(super) fn end_statement(&mut self, id: u32, finding: &Finding) {
        let server = self.board.server;
        self.end(finding, |client| server.end_statement(client, id, finding.query.as_deref()));
    }

    /// Kills the connection at the server, if it is still ours.
    pub(super) fn end_connection(&mut self, id: u32, finding: &Finding) {
        let server = self.board.server;
        self.end(finding, |client| server.end_connection(client, id));
    }

    /// Ignores the result: the next look shows it.
    fn end(&mut self, finding: &Finding, end: impl FnOnce(&mut Client) -> Result<(), Halt>) {
        if finding.is_ours
            && let Ok(client) = self.client()
            && end(client).is_err_and(|halt| !is_refusal(&halt))
        {
            self.client = None;
        }
    }

    fn client(&mut self) -> Result<&mut Client, Halt> {
        let board = self.board;
        board.own.set_deadline(Nanos(board.clock.now().0 + self.limit.0));
        if self.client.is_none() {
            let mut plan = board.connect.clone();
            plan.retries = 0;
            plan.timeout_s = plan.timeout_s.min(self.limit.seconds());
            self.client =
                Some(Client::connect_with(&board.endpoint, &plan, &board.stop, &board.own)?);
        }
        self.client.as_mut().ok_or(Halt::Stopped)
    }

    fn try_look(&mut self, beat: &Beat, own: &[u32]) -> Result<Finding, Halt> {
        let server = self.board.server;
        let client = self.client()?;
        match beat.connection {
            Some(id) => server.look(client, id, beat, own),
            None => Ok(Finding::of_nothing("the server, which lets another connection in")),
        }
    }
}
