//! A script in a step's plan, made ready for its users.

use super::script::{Command, Script, ScriptError, SqlPiece, What};
use super::variables::{Content, Names, Variables};
use crate::{Piece, SpecError, Template};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A script of pgbench: the part `pgbench` of a workload's plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PgbenchSpec {
    /// Its text.
    pub script: String,
    /// What its variables hold at the start; `client_id` is each user's number if it is not one of
    /// them.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Values stand in the text of statements, as in pgbench's simple mode. Otherwise they are
    /// parameters.
    #[serde(default)]
    pub in_text: bool,
    /// An event that is restarted draws what it drew before, as with pgbench's `--max-tries`.
    #[serde(default)]
    pub repeats_draws: bool,
    /// The script's number among those of its run, which `debug` prints.
    #[serde(default)]
    pub number: u16,
    /// Each error after which an event may be tried again is printed, with what comes of the event,
    /// as with pgbench's `--verbose-errors`.
    #[serde(default)]
    pub shows_errors: bool,
    /// What each user executes, sends and receives is printed, as with pgbench's `--debug`.
    #[serde(default)]
    pub traces: bool,
}

/// What all users of a script share.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(super) script: Script,
    /// The kind of each statement, by the number of its command.
    pub(super) kinds: Vec<Option<u16>>,
    pub(super) names: Names,
    pub(super) start: Variables,
    pub(super) client_id: Option<u16>,
    pub(super) in_text: bool,
    pub(super) repeats_draws: bool,
    pub(super) number: u16,
    pub(super) shows_errors: bool,
    pub(super) traces: bool,
    pub(crate) has_pipelines: bool,
}

impl Prepared {
    /// The script, and the texts of its statements.
    pub(crate) fn new(spec: &PgbenchSpec) -> Result<(Self, Vec<Template>), SpecError> {
        let refused = |why: String| SpecError::Script { workload: "pgbench".to_owned(), why };
        let mut names = Names::default();
        let script = Script::parse(&spec.script, &mut names)
            .map_err(|error: ScriptError| refused(error.to_string()))?;
        let (mut kinds, mut templates) = (Vec::new(), Vec::new());
        for command in &script.commands {
            let kind = match &command.what {
                What::Sql { pieces, .. } => {
                    let kind = u16::try_from(templates.len())
                        .map_err(|_| refused("too many statements".to_owned()))?;
                    check_parameters(pieces, &names, spec.in_text).map_err(refused)?;
                    templates.push(template(pieces, spec.in_text));
                    Some(kind)
                }
                What::StartPipeline if spec.in_text => {
                    let why = "a pipeline needs values as parameters, not in_text";
                    return Err(refused(format!("line {}: {why}", command.line)));
                }
                _ => None,
            };
            kinds.push(kind);
        }
        let mut start = Variables::default();
        for (name, text) in &spec.variables {
            let place =
                names.place(name).ok_or_else(|| refused("too many variables".to_owned()))?;
            start.set(place, Content::Text(text.clone().into_bytes()));
        }
        let is_given = spec.variables.contains_key(CLIENT_ID);
        let client_id = if is_given { None } else { names.place(CLIENT_ID) };
        let is_pipeline = |command: &Command| command.what == What::StartPipeline;
        let prepared = Self {
            has_pipelines: script.commands.iter().any(is_pipeline),
            script,
            kinds,
            names,
            start,
            client_id,
            in_text: spec.in_text,
            repeats_draws: spec.repeats_draws,
            number: spec.number,
            shows_errors: spec.shows_errors,
            traces: spec.traces,
        };
        Ok((prepared, templates))
    }
}

/// The variable with a user's number.
const CLIENT_ID: &str = "client_id";

/// pgbench's limit for a statement whose values do not stand in its text.
const MOST_PARAMETERS: usize = 255;

fn check_parameters(pieces: &[SqlPiece], names: &Names, in_text: bool) -> Result<(), String> {
    let is_variable = |piece: &&SqlPiece| matches!(piece, SqlPiece::Variable(_));
    if in_text || pieces.iter().filter(is_variable).count() <= MOST_PARAMETERS {
        return Ok(());
    }
    let text: String = pieces
        .iter()
        .map(|piece| match piece {
            SqlPiece::Text(text) => text.clone(),
            SqlPiece::Variable(place) => format!(":{}", names.name(*place)),
        })
        .collect();
    Err(format!("statement has too many arguments (maximum is {MOST_PARAMETERS}): {text}"))
}

fn template(pieces: &[SqlPiece], in_text: bool) -> Template {
    let piece = |piece: &SqlPiece| match piece {
        SqlPiece::Text(text) => Piece::Text(text.clone()),
        SqlPiece::Variable(_) if in_text => Piece::Verbatim,
        SqlPiece::Variable(_) => Piece::Parameter,
    };
    let template = Template::new(pieces.iter().map(piece).collect());
    if in_text { template.text_only() } else { template.types_vary() }
}
