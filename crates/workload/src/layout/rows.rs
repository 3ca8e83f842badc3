use super::LayoutKind;
use crate::digits::{C_GROUPS, PAD_GROUPS, push_decimal, push_groups};
use crate::distribution::Sampler;
use crate::random::{Purpose, Random};

/// What each hot product has in stock: more than a day of a million sales a second takes, in a `BIGINT`.
const STOCK: i64 = 1_000_000_000_000;

/// A product's price is one to so many.
const PRICES: u64 = 100_000;

/// Writes the rows of a layout's tables.
#[derive(Copy, Clone, Debug)]
pub struct RowSource {
    kind: LayoutKind,
    k: Sampler,
    seed: u64,
}

/// How a row is punctuated. No value needs escaping: all are digits and hyphens.
#[derive(Copy, Clone)]
struct Punctuation {
    open: &'static str,
    separator: &'static str,
    quote: &'static str,
    close: &'static str,
}

const TSV: Punctuation = Punctuation { open: "", separator: "\t", quote: "", close: "\n" };
const SQL: Punctuation = Punctuation { open: "(", separator: ",", quote: "'", close: ")" };

impl RowSource {
    pub(super) fn new(kind: LayoutKind, k: Sampler, seed: u64) -> Self {
        Self { kind, k, seed }
    }

    /// Append the row as a line of tab-separated values, as LOAD DATA reads it by default.
    pub fn write_row_tsv(&self, table: u32, id: u64, out: &mut Vec<u8>) {
        self.write_row(table, id, TSV, out);
    }

    /// Append the row as `(…)` for INSERT … VALUES.
    pub fn write_row_sql(&self, table: u32, id: u64, out: &mut Vec<u8>) {
        self.write_row(table, id, SQL, out);
    }

    fn write_row(&self, table: u32, id: u64, style: Punctuation, out: &mut Vec<u8>) {
        let number = id as i64;
        out.extend_from_slice(style.open.as_bytes());
        match self.kind {
            LayoutKind::Sbtest => {
                let mut random = Random::new(self.seed, Purpose::Rows, &[u64::from(table), id]);
                push_numbers(&[number, self.k.draw(&mut random) as i64], style, out);
                push_quoted(C_GROUPS, &mut random, style, out);
                push_quoted(PAD_GROUPS, &mut random, style, out);
            }
            LayoutKind::Bulk => push_numbers(&[number, number], style, out),
            LayoutKind::Hot => push_numbers(&[number, STOCK, 0], style, out),
            LayoutKind::Products => {
                let mut random = Random::new(self.seed, Purpose::Rows, &[u64::from(table), id]);
                let price = 1 + random.below(PRICES) as i64;
                push_numbers(&[number, price], style, out);
                push_quoted(PAD_GROUPS, &mut random, style, out);
            }
            // None is loaded; this is what a sale would add.
            LayoutKind::Orders => push_numbers(&[number, 1, 1], style, out),
        }
        out.extend_from_slice(style.close.as_bytes());
    }
}

fn push_numbers(numbers: &[i64], style: Punctuation, out: &mut Vec<u8>) {
    for (position, number) in numbers.iter().enumerate() {
        if position > 0 {
            out.extend_from_slice(style.separator.as_bytes());
        }
        push_decimal(*number, out);
    }
}

fn push_quoted(groups: usize, random: &mut Random, style: Punctuation, out: &mut Vec<u8>) {
    out.extend_from_slice(style.separator.as_bytes());
    out.extend_from_slice(style.quote.as_bytes());
    push_groups(groups, random, out);
    out.extend_from_slice(style.quote.as_bytes());
}
