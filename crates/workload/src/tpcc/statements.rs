//! The statements of TPC-C's transactions. Amounts are whole hundredths that the statement divides:
//! a text parameter would make the server compute with floating-point numbers.

use crate::dialect::{Dialect, spelled};
use crate::{StatementRef, Template};

use super::DISTRICTS;

/// A statement: its index in [`STATEMENTS`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Sql {
    Begin,
    Commit,
    Rollback,
    // New-Order (clause 2.4)
    WarehouseTax,
    CustomerDiscount,
    DistrictForOrder,
    CountOrder,
    InsertOrder,
    InsertNewOrder,
    Item,
    UpdateStock,
    InsertLine,
    // Payment (clause 2.5)
    PayWarehouse,
    Warehouse,
    PayDistrict,
    District,
    CustomersByName,
    CustomerForPayment,
    CustomerData,
    PayCustomer,
    PayBadCustomer,
    InsertHistory,
    // Order-Status (clause 2.6)
    Customer,
    LastOrder,
    Lines,
    // Delivery (clause 2.7)
    OldestNewOrder,
    DeleteNewOrder,
    CustomerOfOrder,
    CarryOrder,
    DeliverLines,
    AmountOfOrder,
    PayOnDelivery,
    // Stock-Level (clause 2.8)
    NextOrder,
    LowStock,
}

impl Sql {
    pub(super) fn statement(self) -> StatementRef {
        StatementRef { kind: self as u16, table: 0 }
    }
}

/// A row of the stock with its text for this district: each district has a column of its own, and
/// so a statement.
pub(super) fn stock_for(district: i64) -> StatementRef {
    StatementRef { kind: STATEMENTS.len() as u16 + district as u16 - 1, table: 0 }
}

/// In words of every dialect.
const STATEMENTS: &[(Sql, &str)] = &[
    (Sql::Begin, "BEGIN"),
    (Sql::Commit, "COMMIT"),
    (Sql::Rollback, "ROLLBACK"),
    (Sql::WarehouseTax, "SELECT w_tax FROM tpcc_warehouse WHERE w_id = ?"),
    (
        Sql::CustomerDiscount,
        "SELECT c_discount, c_last, c_credit FROM tpcc_customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::DistrictForOrder,
        "SELECT d_tax, d_next_o_id FROM tpcc_district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
    ),
    (
        Sql::CountOrder,
        "UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
    ),
    (
        Sql::InsertOrder,
        "INSERT INTO tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
         o_all_local) VALUES (?, ?, ?, ?, {now}, NULL, ?, ?)",
    ),
    (
        Sql::InsertNewOrder,
        "INSERT INTO tpcc_new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)",
    ),
    (Sql::Item, "SELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = ?"),
    (
        Sql::UpdateStock,
        "UPDATE tpcc_stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
    ),
    (
        Sql::InsertLine,
        "INSERT INTO tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (?, ?, ?, ?, ?, ?, NULL, ?, {hundredths}, ?)",
    ),
    (Sql::PayWarehouse, "UPDATE tpcc_warehouse SET w_ytd = w_ytd + {hundredths} WHERE w_id = ?"),
    (
        Sql::Warehouse,
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM tpcc_warehouse \
         WHERE w_id = ?",
    ),
    (
        Sql::PayDistrict,
        "UPDATE tpcc_district SET d_ytd = d_ytd + {hundredths} WHERE d_w_id = ? AND d_id = ?",
    ),
    (
        Sql::District,
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM tpcc_district \
         WHERE d_w_id = ? AND d_id = ?",
    ),
    (
        Sql::CustomersByName,
        "SELECT c_id FROM tpcc_customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
         ORDER BY c_first",
    ),
    (
        Sql::CustomerForPayment,
        "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
         c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance FROM tpcc_customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    ),
    (
        Sql::CustomerData,
        "SELECT c_data FROM tpcc_customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::PayCustomer,
        "UPDATE tpcc_customer SET c_balance = c_balance - {hundredths}, \
         c_ytd_payment = c_ytd_payment + {hundredths}, c_payment_cnt = c_payment_cnt + 1 \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::PayBadCustomer,
        "UPDATE tpcc_customer SET c_balance = c_balance - {hundredths}, \
         c_ytd_payment = c_ytd_payment + {hundredths}, c_payment_cnt = c_payment_cnt + 1, c_data = ? \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::InsertHistory,
        "INSERT INTO tpcc_history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, \
         h_data) VALUES (?, ?, ?, ?, ?, {now}, {hundredths}, ?)",
    ),
    (
        Sql::Customer,
        "SELECT c_balance, c_first, c_middle, c_last FROM tpcc_customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::LastOrder,
        "SELECT o_id, o_entry_d, o_carrier_id FROM tpcc_orders \
         WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
    ),
    (
        Sql::Lines,
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
         FROM tpcc_order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    (
        Sql::OldestNewOrder,
        "SELECT no_o_id FROM tpcc_new_order WHERE no_w_id = ? AND no_d_id = ? \
         ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    ),
    (
        Sql::DeleteNewOrder,
        "DELETE FROM tpcc_new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
    ),
    (
        Sql::CustomerOfOrder,
        "SELECT o_c_id FROM tpcc_orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    ),
    (
        Sql::CarryOrder,
        "UPDATE tpcc_orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    ),
    (
        Sql::DeliverLines,
        "UPDATE tpcc_order_line SET ol_delivery_d = {now} \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    (
        Sql::AmountOfOrder,
        "SELECT SUM(ol_amount) FROM tpcc_order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    (
        Sql::PayOnDelivery,
        "UPDATE tpcc_customer SET c_balance = c_balance + {hundredths}, \
         c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (Sql::NextOrder, "SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = ? AND d_id = ?"),
    (
        Sql::LowStock,
        "SELECT COUNT(DISTINCT s_i_id) FROM tpcc_order_line JOIN tpcc_stock \
         ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
    ),
];

/// All statements, in the order of their kinds.
pub(crate) fn templates(dialect: &dyn Dialect) -> Vec<Template> {
    let stock = (1..=DISTRICTS).map(|district| {
        Template::parse(&format!(
            "SELECT s_quantity, s_dist_{district:02}, s_data FROM tpcc_stock \
             WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE"
        ))
    });
    let written = |(_, sql): &(Sql, &str)| Template::parse(&spelled(sql, dialect));
    STATEMENTS.iter().map(written).chain(stock).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use crate::dialect::usual_dialect;

    #[test]
    fn each_statement_stands_where_its_kind_says() {
        for (place, (sql, _)) in STATEMENTS.iter().enumerate() {
            assert_eq!(*sql as usize, place, "{sql:?}");
        }
        let catalogue = Catalogue::new(templates(usual_dialect()));
        let mut text = Vec::new();
        catalogue.write_prepared(stock_for(10), &mut text);
        assert!(String::from_utf8(text).unwrap().contains("s_dist_10,"));
        assert_eq!(catalogue.kinds(), usize::from(stock_for(10).kind) + 1);
    }
}
