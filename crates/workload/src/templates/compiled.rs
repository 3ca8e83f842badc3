//! A template, checked and in the form that users run.

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::{Piece, SpecError, Template};

use super::draw::{Draw, refuse};
use super::names::kept;
use super::spec::{
    ParameterSpec, Per, PieceSpec, StatementSpec, TemplateSpec, TransactionSpec, ValueSpec,
};

/// A template as its users run it, shared by all of them.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(super) transactions: Vec<Transaction>,
    /// The sum of all weights.
    pub(super) total: u64,
    pub(super) reads_rows: bool,
    pub(super) dialect: &'static dyn Dialect,
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) name: &'static [&'static str; 1],
    /// Its own weight plus those of all before it.
    pub(super) up_to: u64,
    pub(super) think_s: f64,
    pub(super) parameters: Vec<Source>,
    /// Including BEGIN and COMMIT, if there are any.
    pub(super) statements: Vec<Statement>,
    /// The parameters' names, for showing samples.
    pub(super) names: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: u16,
    pub(super) role: Role,
    pub(super) repeat: u32,
    pub(super) copies: u32,
    pub(super) same_copy: bool,
    /// Parameters that are drawn again for it.
    pub(super) anew: Vec<u16>,
    /// Parameters of its placeholders, in their order.
    pub(super) uses: Vec<u16>,
    pub(super) reads: Vec<u16>,
    pub(super) rows: Option<(u64, u64)>,
    /// The error if it does not have the rows that it must have.
    pub(super) refusal: &'static str,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Begin,
    Work,
    Commit,
}

/// Where a parameter comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A number, from the stream of keys.
    Key(Draw),
    /// Any other drawn value.
    Value(Draw),
    Sequence {
        start: i64,
    },
    /// An offset from a drawn parameter.
    Offset {
        of: u16,
        add: i64,
    },
    Read,
}

/// How often a statement is repeated at most: more is a loop that an event never leaves.
const MOST_REPEATS: u32 = 1_000_000;
/// The longest time to think, in seconds: an hour.
const LONGEST_THINK_S: f64 = 3_600.0;

impl Compiled {
    /// The compiled template, and the text of its statements.
    ///
    /// # Errors
    /// [`SpecError::OutOfRange`]. Files are checked before, with line numbers: this is the last
    /// check.
    pub(crate) fn new(
        spec: &TemplateSpec,
        dialect: &'static dyn Dialect,
    ) -> Result<(Self, Vec<Template>), SpecError> {
        let mut texts = Vec::new();
        let mut transactions = Vec::new();
        let mut total = 0;
        for one in &spec.transactions {
            total += u64::from(one.weight);
            transactions.push(transaction(one, total, &mut texts)?);
        }
        if total == 0 {
            return refuse("template: the weights of its transactions", "above 0 in all");
        }
        if texts.len() > usize::from(u16::MAX) {
            return refuse("template: its statements", "65535 at most");
        }
        let reads = |one: &Transaction| one.statements.iter().any(|each| !each.reads.is_empty());
        let reads_rows = transactions.iter().any(reads);
        Ok((Self { transactions, total, reads_rows, dialect }, texts))
    }
}

fn transaction(
    spec: &TransactionSpec,
    up_to: u64,
    texts: &mut Vec<Template>,
) -> Result<Transaction, SpecError> {
    if spec.statements.is_empty() {
        return refuse("template: a transaction", "of at least one statement");
    }
    if !(0.0..=LONGEST_THINK_S).contains(&spec.think_s) {
        return refuse("template: a time to think", "0 to 3600 s");
    }
    if spec.autocommit && spec.read_only {
        return refuse("template: a transaction that is read only", "not autocommit");
    }
    let parameters = sources(&spec.parameters)?;
    let mut statements = Vec::new();
    if !spec.autocommit {
        let begin = if spec.read_only { "START TRANSACTION READ ONLY" } else { "BEGIN" };
        statements.push(bare(Role::Begin, begin, texts));
    }
    for (number, one) in (1..).zip(&spec.statements) {
        statements.push(statement((number, one), spec, &parameters, texts)?);
    }
    if !spec.autocommit {
        statements.push(bare(Role::Commit, "COMMIT", texts));
    }
    Ok(Transaction {
        name: kept(&spec.name),
        up_to,
        think_s: spec.think_s,
        parameters,
        statements,
        names: spec.parameters.iter().map(|one| one.name.clone()).collect(),
    })
}

fn bare(role: Role, sql: &str, texts: &mut Vec<Template>) -> Statement {
    texts.push(Template::new(vec![Piece::Text(sql.to_owned())]));
    Statement {
        kind: (texts.len() - 1) as u16,
        role,
        repeat: 1,
        copies: 0,
        same_copy: false,
        anew: Vec::new(),
        uses: Vec::new(),
        reads: Vec::new(),
        rows: None,
        refusal: "",
    }
}

fn statement(
    (number, spec): (usize, &StatementSpec),
    of: &TransactionSpec,
    sources: &[Source],
    texts: &mut Vec<Template>,
) -> Result<Statement, SpecError> {
    if !(1..=MOST_REPEATS).contains(&spec.repeat) {
        return refuse("template: the repeats of a statement", "1 to 1000000");
    }
    let uses: Vec<u16> = spec.pieces.iter().filter_map(parameter_of).collect();
    let known = |place: &u16| usize::from(*place) < of.parameters.len();
    if !uses.iter().chain(&spec.reads).all(known) {
        return refuse("template: a statement's parameter", "the place of one of its transaction");
    }
    let is_read = |place: &u16| of.parameters[usize::from(*place)].value == ValueSpec::Read {};
    if !spec.reads.iter().all(is_read) {
        return refuse("template: what a statement reads", "a parameter of the kind read");
    }
    if spec.rows.is_some_and(|(fewest, most)| fewest > most) {
        return refuse("template: the rows of a statement", "the fewest first");
    }
    let text = Template::new(spec.pieces.iter().map(piece_of).collect());
    let varies = uses.iter().any(|place| of.parameters[usize::from(*place)].value.type_varies());
    texts.push(if varies { text.types_vary() } else { text });
    let place = format!("transaction {}, statement {number}", of.name);
    let refusal = match spec.rows {
        Some((fewest, most)) if fewest == most => format!("{place}: not {fewest} rows"),
        Some((fewest, most)) => format!("{place}: not {fewest} to {most} rows"),
        None => format!("{place}: no row to read"),
    };
    Ok(Statement {
        kind: (texts.len() - 1) as u16,
        role: Role::Work,
        repeat: spec.repeat,
        copies: spec.copies,
        same_copy: spec.same_copy,
        anew: drawn_anew(&uses, sources, &of.parameters),
        uses,
        reads: spec.reads.clone(),
        rows: spec.rows,
        refusal: kept(&refusal)[0],
    })
}

fn parameter_of(piece: &PieceSpec) -> Option<u16> {
    match piece {
        PieceSpec::Parameter(place) => Some(*place),
        PieceSpec::Text(_) | PieceSpec::Copy => None,
    }
}

fn piece_of(piece: &PieceSpec) -> Piece {
    match piece {
        PieceSpec::Text(text) => Piece::Text(text.clone()),
        PieceSpec::Parameter(_) => Piece::Parameter,
        PieceSpec::Copy => Piece::TableNumber,
    }
}

/// The named parameters, and those that their values come from, if they last for a statement only.
fn drawn_anew(uses: &[u16], sources: &[Source], parameters: &[ParameterSpec]) -> Vec<u16> {
    let mut anew = BTreeSet::new();
    for &place in uses {
        let mut drawn = place;
        if let Source::Offset { of, .. } = sources[usize::from(place)] {
            anew.insert(place);
            drawn = of;
        }
        if parameters[usize::from(drawn)].per == Per::Statement {
            anew.insert(drawn);
        }
    }
    anew.into_iter().collect()
}

fn sources(parameters: &[ParameterSpec]) -> Result<Vec<Source>, SpecError> {
    if parameters.len() > usize::from(u16::MAX) {
        return refuse("template: the parameters of a transaction", "65535 at most");
    }
    let mut sources: Vec<Source> = Vec::with_capacity(parameters.len());
    for (place, one) in parameters.iter().enumerate() {
        sources.push(match (&one.value, Draw::compile(&one.value)?) {
            (_, Some(draw @ (Draw::Integer { .. } | Draw::Hot(_)))) => Source::Key(draw),
            (_, Some(draw)) => Source::Value(draw),
            (ValueSpec::Sequence { start }, _) => Source::Sequence { start: *start },
            (ValueSpec::Offset { of, add }, _) => {
                if usize::from(*of) >= place || !is_whole(&parameters[usize::from(*of)].value) {
                    let allowed = "of a whole number that stands before it";
                    return refuse("template: an offset", allowed);
                }
                // Chains of offsets are followed here, once.
                match sources[usize::from(*of)] {
                    Source::Offset { of, add: more } => {
                        Source::Offset { of, add: add.wrapping_add(more) }
                    }
                    _ => Source::Offset { of: *of, add: *add },
                }
            }
            (ValueSpec::Cycle { .. }, _) => {
                return refuse("template: a parameter", "no cycle: that is for columns");
            }
            _ => Source::Read,
        });
    }
    Ok(sources)
}

fn is_whole(value: &ValueSpec) -> bool {
    matches!(
        value,
        ValueSpec::Integer { .. }
            | ValueSpec::Hot { .. }
            | ValueSpec::Sequence { .. }
            | ValueSpec::Unique {}
            | ValueSpec::Offset { .. }
    )
}
