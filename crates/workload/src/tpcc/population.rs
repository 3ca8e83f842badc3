//! The initial rows of TPC-C's tables (clause 4.3.3.1).

use crate::random::{Purpose, Random};
use crate::row_writer::RowWriter;

use super::money::push_amount;
use super::names::{push_alphanumeric, push_digits, push_last_name, push_letters};
use super::nurand::loaded_last_name;
use super::schema::{Rows, Table};
use super::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, LINES, NEW_ORDERS, ORDERS};
use crate::permutation::Permutation;

/// The date of all loaded rows: the day of the first version of the specification. With the time of
/// the load, rows would differ although the seed is the same.
const LOADED_AT: &[u8] = b"1992-08-13 00:00:00";

/// A tenth of the texts of items and stock contain this (clause 4.3.3.1).
const ORIGINAL: &[u8] = b"ORIGINAL";

/// The end of each postal code (clause 4.3.2.7).
const ZIP_END: &[u8] = b"11111";

/// The customers with ids up to this number have each last name once.
const NAMED_IN_TURN: u64 = 1_000;

/// The rows of a seed.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Population {
    pub(crate) seed: u64,
}

/// The place of a row.
#[derive(Copy, Clone)]
struct Place {
    warehouse: u64,
    district: u64,
    /// Its number within its district or warehouse.
    number: u64,
}

impl Place {
    fn of(id: u64, a_district: u64) -> Self {
        let (district, number) = ((id - 1) / a_district, (id - 1) % a_district + 1);
        Self { warehouse: district / DISTRICTS + 1, district: district % DISTRICTS + 1, number }
    }
}

impl Population {
    /// The number of rows with these ids.
    pub(crate) fn rows(&self, table: &Table, first: u64, last: u64) -> u64 {
        match table.rows {
            Rows::OrderLine => (first..=last).map(|order| self.lines_of(order)).sum(),
            _ => last + 1 - first,
        }
    }

    /// Writes the rows with this id: all lines of an order, otherwise one.
    pub(crate) fn write(&self, table: &Table, id: u64, row: &mut RowWriter<'_>) {
        let mut random = self.random(table.rows, id);
        match table.rows {
            Rows::Warehouse => warehouse(id, &mut random, row),
            Rows::District => district(Place::of(id, 1), &mut random, row),
            Rows::Item => item(id, &mut random, row),
            Rows::Stock => stock(id, &mut random, row),
            Rows::Customer => customer(Place::of(id, CUSTOMERS), &mut random, row),
            Rows::History => history(Place::of(id, CUSTOMERS), &mut random, row),
            Rows::Order => self.order(id, row),
            Rows::NewOrder => new_order(Place::of(id, NEW_ORDERS), row),
            Rows::OrderLine => self.order_lines(id, &mut random, row),
        }
    }

    fn random(&self, rows: Rows, id: u64) -> Random {
        Random::new(self.seed, Purpose::Rows, &[rows as u64, id])
    }

    /// The first number of an order's stream, so that order and lines agree.
    fn lines_of(&self, order: u64) -> u64 {
        self.random(Rows::Order, order).within(LINES.0, LINES.1)
    }

    fn order(&self, id: u64, row: &mut RowWriter<'_>) {
        let mut random = self.random(Rows::Order, id);
        let lines = random.within(LINES.0, LINES.1);
        let place = Place::of(id, ORDERS);
        let carrier = random.within(1, 10);
        row.begin().int(place.number).int(place.district).int(place.warehouse);
        row.int(self.customer_of(place)).text(date);
        if place.number < FIRST_NEW_ORDER {
            row.int(carrier)
        } else {
            row.null()
        };
        row.int(lines).int(1).end();
    }

    /// Each customer of a district has one order.
    fn customer_of(&self, place: Place) -> u64 {
        let of_district = [u64::MAX, place.warehouse, place.district];
        let key = Random::new(self.seed, Purpose::Rows, &of_district).bits();
        Permutation::new(CUSTOMERS, key).at(place.number - 1) + 1
    }

    fn order_lines(&self, id: u64, random: &mut Random, row: &mut RowWriter<'_>) {
        let place = Place::of(id, ORDERS);
        let is_delivered = place.number < FIRST_NEW_ORDER;
        for number in 1..=self.lines_of(id) {
            row.begin().int(place.number).int(place.district).int(place.warehouse);
            row.int(number).int(random.within(1, ITEMS)).int(place.warehouse);
            if is_delivered {
                row.text(date)
            } else {
                row.null()
            };
            let amount = if is_delivered { 0 } else { random.within(1, 999_999) };
            row.int(5).number(|out| push_amount(amount as i64, out));
            row.text(|out| push_alphanumeric((24, 24), random, out)).end();
        }
    }
}

fn warehouse(id: u64, random: &mut Random, row: &mut RowWriter<'_>) {
    row.begin().int(id);
    address((6, 10), random, row);
    row.number(|out| push_share(random.within(0, 2_000), out));
    row.number(|out| push_amount(30_000_000, out)).end();
}

fn district(place: Place, random: &mut Random, row: &mut RowWriter<'_>) {
    row.begin().int(place.district).int(place.warehouse);
    address((6, 10), random, row);
    row.number(|out| push_share(random.within(0, 2_000), out));
    row.number(|out| push_amount(3_000_000, out)).int(ORDERS + 1).end();
}

fn item(id: u64, random: &mut Random, row: &mut RowWriter<'_>) {
    row.begin().int(id).int(random.within(1, 10_000));
    row.text(|out| push_alphanumeric((14, 24), random, out));
    row.number(|out| push_amount(random.within(100, 10_000) as i64, out));
    row.text(|out| push_data(random, out)).end();
}

fn stock(id: u64, random: &mut Random, row: &mut RowWriter<'_>) {
    let (warehouse, item) = ((id - 1) / ITEMS + 1, (id - 1) % ITEMS + 1);
    row.begin().int(item).int(warehouse).int(random.within(10, 100));
    for _ in 0..DISTRICTS {
        row.text(|out| push_alphanumeric((24, 24), random, out));
    }
    row.int(0).int(0).int(0).text(|out| push_data(random, out)).end();
}

fn customer(place: Place, random: &mut Random, row: &mut RowWriter<'_>) {
    row.begin().int(place.number).int(place.district).int(place.warehouse);
    row.text(|out| push_alphanumeric((8, 16), random, out));
    row.text(|out| out.extend_from_slice(b"OE"));
    let name = match place.number {
        number @ 1..=NAMED_IN_TURN => number - 1,
        _ => loaded_last_name(random),
    };
    row.text(|out| push_last_name(name, out));
    streets(random, row);
    row.text(|out| push_digits(16, random, out)).text(date);
    let credit = if random.below(10) == 0 { b"BC" } else { b"GC" };
    row.text(|out| out.extend_from_slice(credit));
    row.number(|out| push_amount(5_000_000, out));
    row.number(|out| push_share(random.within(0, 5_000), out));
    row.number(|out| push_amount(-1_000, out)).number(|out| push_amount(1_000, out));
    row.int(1).int(0).text(|out| push_alphanumeric((300, 500), random, out)).end();
}

fn history(place: Place, random: &mut Random, row: &mut RowWriter<'_>) {
    row.begin().int(place.number).int(place.district).int(place.warehouse);
    row.int(place.district).int(place.warehouse).text(date);
    row.number(|out| push_amount(1_000, out));
    row.text(|out| push_alphanumeric((12, 24), random, out)).end();
}

fn new_order(place: Place, row: &mut RowWriter<'_>) {
    row.begin().int(FIRST_NEW_ORDER + place.number - 1);
    row.int(place.district).int(place.warehouse).end();
}

/// Writes a name with a length in this range, and an address.
fn address(name: (u64, u64), random: &mut Random, row: &mut RowWriter<'_>) {
    row.text(|out| push_alphanumeric(name, random, out));
    streets(random, row);
}

fn streets(random: &mut Random, row: &mut RowWriter<'_>) {
    for _ in 0..3 {
        row.text(|out| push_alphanumeric((10, 20), random, out));
    }
    row.text(|out| push_letters(2, random, out));
    row.text(|out| {
        push_digits(4, random, out);
        out.extend_from_slice(ZIP_END);
    });
}

/// A text of item or stock.
fn push_data(random: &mut Random, out: &mut Vec<u8>) {
    let start = out.len();
    push_alphanumeric((26, 50), random, out);
    if random.below(10) == 0 {
        let room = out.len() - start - ORIGINAL.len();
        let place = start + random.within(0, room as u64) as usize;
        out[place..place + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// A share below one, in ten-thousandths.
fn push_share(share: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0.");
    out.extend([1_000, 100, 10, 1].map(|unit| b'0' + (share / unit % 10) as u8));
}

fn date(out: &mut Vec<u8>) {
    out.extend_from_slice(LOADED_AT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Notation, usual_dialect};
    use crate::tpcc::schema::TABLES;
    use std::collections::BTreeSet;

    const POPULATION: Population = Population { seed: 42 };

    fn table(rows: Rows) -> &'static Table {
        TABLES.iter().find(|table| table.rows == rows).unwrap()
    }

    /// The rows of these ids, their values as text.
    fn rows(rows: Rows, ids: std::ops::RangeInclusive<u64>) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        let mut writer = RowWriter::new(usual_dialect(), Notation::Stream, &mut out);
        ids.for_each(|id| POPULATION.write(table(rows), id, &mut writer));
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn rows_have_a_value_for_each_column() {
        for table in &TABLES {
            let columns = table.columns.split(", ").count();
            for id in [1, table.ids(2)] {
                for row in rows(table.rows, id..=id) {
                    assert_eq!(row.len(), columns, "{}", table.name);
                }
            }
        }
    }

    #[test]
    fn orders_agree_with_their_lines_and_customers() {
        let (first, last) = (ORDERS + 1, 2 * ORDERS);
        let orders = rows(Rows::Order, first..=last);
        let customers: BTreeSet<u64> = orders.iter().map(|row| row[3].parse().unwrap()).collect();
        assert!(customers.into_iter().eq(1..=CUSTOMERS));
        let lines = rows(Rows::OrderLine, first..=last);
        let counted: usize = orders.iter().map(|row| row[6].parse::<usize>().unwrap()).sum();
        assert_eq!(counted, lines.len());
        let told = POPULATION.rows(table(Rows::OrderLine), first, last);
        assert_eq!(told as usize, lines.len());
        for order in &orders {
            assert_eq!((order[1].as_str(), order[2].as_str()), ("2", "1"));
            let is_delivered = order[0].parse::<u64>().unwrap() < 2_101;
            assert_eq!(order[5] != "\\N", is_delivered);
        }
        for line in &lines {
            let is_delivered = line[0].parse::<u64>().unwrap() < 2_101;
            assert_eq!(line[6] != "\\N", is_delivered);
            assert_eq!(line[8] == "0.00", is_delivered);
            assert_eq!((line[5].as_str(), line[7].as_str()), ("1", "5"));
        }
        let new = rows(Rows::NewOrder, 1..=900);
        assert_eq!((new[0][0].as_str(), new[899][0].as_str()), ("2101", "3000"));
    }

    #[test]
    fn customers_are_as_clause_4_3_3_1_says() {
        let customers = rows(Rows::Customer, 30_001..=33_000);
        let names: BTreeSet<&str> = customers[..1_000].iter().map(|row| row[5].as_str()).collect();
        assert_eq!(names.len(), 1_000);
        assert_eq!(
            (customers[0][5].as_str(), customers[371][5].as_str()),
            ("BARBARBAR", "PRICALLYOUGHT")
        );
        assert!(customers.iter().all(|row| names.contains(row[5].as_str()) && row[2] == "2"));
        let bad = customers.iter().filter(|row| row[13] == "BC").count();
        // A tenth of 3,000; the deviation is 16.
        assert!(bad.abs_diff(300) < 100, "{bad}");
        for row in &customers {
            assert!((300..=500).contains(&row[20].len()) && row[11].len() == 16);
            assert!(row[10].len() == 9 && row[10].ends_with("11111"));
            assert!((0.0..=0.5).contains(&row[15].parse::<f64>().unwrap()));
            assert_eq!(row[16..20], ["-10.00", "10.00", "1", "0"]);
        }
    }

    #[test]
    fn a_tenth_of_the_texts_is_original() {
        for (which, column) in [(Rows::Item, 4), (Rows::Stock, 16)] {
            let texts = rows(which, 1..=4_000);
            let original = texts.iter().filter(|row| row[column].contains("ORIGINAL")).count();
            assert!(original.abs_diff(400) < 120, "{original}");
            assert!(texts.iter().all(|row| (26..=50).contains(&row[column].len())));
        }
    }

    #[test]
    fn rows_of_both_notations_are_the_same() {
        let mut out = Vec::new();
        let mut writer = RowWriter::new(usual_dialect(), Notation::Values, &mut out);
        POPULATION.write(table(Rows::OrderLine), 3_000, &mut writer);
        let sql = String::from_utf8(out).unwrap();
        let lines = rows(Rows::OrderLine, 3_000..=3_000);
        assert_eq!(sql.matches("),(").count() + 1, lines.len());
        assert!(sql.starts_with("(3000,1,1,1,") && sql.contains(",NULL,5,"));
        let plain = sql.replace('\'', "").replace("NULL", "\\N");
        let plain = plain.strip_prefix('(').unwrap().strip_suffix(')').unwrap();
        let same: Vec<String> = lines.iter().map(|line| line.join(",")).collect();
        assert_eq!(plain.split("),(").collect::<Vec<_>>(), same);
    }

    #[test]
    fn what_the_consistency_conditions_want_holds_of_sums() {
        let warehouse = rows(Rows::Warehouse, 1..=1);
        let districts = rows(Rows::District, 1..=10);
        assert_eq!(warehouse[0][8], "300000.00");
        assert!(districts.iter().all(|row| row[9] == "30000.00" && row[10] == "3001"));
        let tax = |row: &[String], at: usize| row[at].parse::<f64>().unwrap();
        assert!((0.0..=0.2).contains(&tax(&warehouse[0], 7)));
        assert!(districts.iter().all(|row| (0.0..=0.2).contains(&tax(row, 8))));
    }
}
