"""Finds violations of the consistency conditions of TPC-C (specification 5.11, clause 3.3.2).

The statements are those of every family.
"""

from __future__ import annotations

from loadstone.servers.connection import Cursor

_DELIVERED = (
    " LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered"
    " FROM tpcc_orders JOIN tpcc_order_line"
    " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
    " WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS orders"
    " ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
)


_BROKEN: dict[int, str] = {
    1: "SELECT w_id, w_ytd, SUM(d_ytd) AS sum_d_ytd FROM tpcc_warehouse"
    " LEFT JOIN tpcc_district ON d_w_id = w_id GROUP BY w_id, w_ytd"
    " HAVING COALESCE(w_ytd <> SUM(d_ytd), TRUE)",
    # If all orders are delivered there is no NO_O_ID.
    2: "SELECT * FROM (SELECT d_w_id, d_id, d_next_o_id - 1 AS last_given,"
    " (SELECT MAX(o_id) FROM tpcc_orders WHERE o_w_id = d_w_id AND o_d_id = d_id)"
    " AS last_order,"
    " (SELECT MAX(no_o_id) FROM tpcc_new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)"
    " AS last_new_order FROM tpcc_district) AS districts"
    " WHERE COALESCE(last_given <> last_order, TRUE)"
    " OR last_given <> COALESCE(last_new_order, last_given)",
    3: "SELECT no_w_id, no_d_id, MIN(no_o_id) AS first, MAX(no_o_id) AS last,"
    " COUNT(*) AS found FROM tpcc_new_order GROUP BY no_w_id, no_d_id"
    " HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    4: "SELECT o_w_id, o_d_id, counted, found FROM"
    " (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS counted FROM tpcc_orders"
    " GROUP BY o_w_id, o_d_id) AS orders LEFT JOIN"
    " (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM tpcc_order_line"
    " GROUP BY ol_w_id, ol_d_id) AS parts ON ol_w_id = o_w_id AND ol_d_id = o_d_id"
    " WHERE COALESCE(counted <> found, TRUE)",
    5: "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM tpcc_orders"
    " LEFT JOIN tpcc_new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id"
    " WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    6: "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, COUNT(ol_number) AS found"
    " FROM tpcc_orders LEFT JOIN tpcc_order_line"
    " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
    " GROUP BY o_w_id, o_d_id, o_id, o_ol_cnt HAVING o_ol_cnt <> COUNT(ol_number)",
    7: "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id"
    " FROM tpcc_order_line LEFT JOIN tpcc_orders"
    " ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id"
    " WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    8: "SELECT w_id, w_ytd, paid FROM tpcc_warehouse LEFT JOIN"
    " (SELECT h_w_id, SUM(h_amount) AS paid FROM tpcc_history GROUP BY h_w_id) AS payments"
    " ON h_w_id = w_id WHERE COALESCE(w_ytd <> paid, TRUE)",
    9: "SELECT d_w_id, d_id, d_ytd, paid FROM tpcc_district LEFT JOIN"
    " (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM tpcc_history"
    " GROUP BY h_w_id, h_d_id) AS payments ON h_w_id = d_w_id AND h_d_id = d_id"
    " WHERE COALESCE(d_ytd <> paid, TRUE)",
    10: "SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid FROM tpcc_customer"
    + _DELIVERED
    + " LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM tpcc_history"
    " GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments"
    " ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id"
    " WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
    11: "SELECT d_w_id, d_id, ordered, waiting, delivered FROM tpcc_district LEFT JOIN"
    " (SELECT o_w_id, o_d_id, COUNT(*) AS ordered FROM tpcc_orders GROUP BY o_w_id, o_d_id)"
    " AS orders ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN"
    " (SELECT no_w_id, no_d_id, COUNT(*) AS waiting FROM tpcc_new_order"
    " GROUP BY no_w_id, no_d_id) AS new_orders ON no_w_id = d_w_id AND no_d_id = d_id LEFT JOIN"
    " (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS delivered FROM tpcc_customer"
    " GROUP BY c_w_id, c_d_id) AS customers ON c_w_id = d_w_id AND c_d_id = d_id"
    " WHERE COALESCE(ordered, 0) - COALESCE(waiting, 0) - COALESCE(delivered, 0) <> 2100",
    12: "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered"
    " FROM tpcc_customer"
    + _DELIVERED
    + " WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
}
"""By the number of a condition, a statement that returns the rows for which it does not hold."""


def broken_places(cursor: Cursor, condition: int, most: int) -> list[dict[str, str | None]]:
    """Columns and values of the first rows for which a condition does not hold."""
    cursor.execute(f"{_BROKEN[condition]} LIMIT {most}")
    rows = cursor.fetchall()
    names = [str(column[0]) for column in cursor.description or ()]
    return [
        {
            name: None if value is None else str(value)
            for name, value in zip(names, row, strict=True)
        }
        for row in rows
    ]
