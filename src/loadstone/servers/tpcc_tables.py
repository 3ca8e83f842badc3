"""The names of TPC-C's tables and columns, as crates/workload/src/tpcc/schema.rs makes them."""

from __future__ import annotations

TABLES: dict[str, tuple[str, ...]] = {
    "tpcc_warehouse": (
        "w_id", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip", "w_tax",
        "w_ytd",
    ),
    "tpcc_district": (
        "d_id", "d_w_id", "d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip",
        "d_tax", "d_ytd", "d_next_o_id",
    ),
    "tpcc_item": ("i_id", "i_im_id", "i_name", "i_price", "i_data"),
    "tpcc_stock": (
        "s_i_id", "s_w_id", "s_quantity", *(f"s_dist_{number:02}" for number in range(1, 11)),
        "s_ytd", "s_order_cnt", "s_remote_cnt", "s_data",
    ),
    "tpcc_customer": (
        "c_id", "c_d_id", "c_w_id", "c_first", "c_middle", "c_last", "c_street_1", "c_street_2",
        "c_city", "c_state", "c_zip", "c_phone", "c_since", "c_credit", "c_credit_lim",
        "c_discount", "c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_data",
    ),
    "tpcc_history": (
        "h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data",
    ),
    "tpcc_orders": (
        "o_id", "o_d_id", "o_w_id", "o_c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt",
        "o_all_local",
    ),
    "tpcc_new_order": ("no_o_id", "no_d_id", "no_w_id"),
    "tpcc_order_line": (
        "ol_o_id", "ol_d_id", "ol_w_id", "ol_number", "ol_i_id", "ol_supply_w_id",
        "ol_delivery_d", "ol_quantity", "ol_amount", "ol_dist_info",
    ),
}  # fmt: skip
"""The columns of each table; a table comes after those that its foreign keys refer to."""

NAMES = tuple(TABLES)

ITEMS = 100_000
"""Rows of `tpcc_item`, whatever the number of warehouses (clause 1.2.1)."""


def in_order_of_dropping(names: tuple[str, ...]) -> tuple[str, ...]:
    """Puts tables before those that they refer to; tables of others keep their position."""
    ours = iter(sorted((name for name in names if name in TABLES), key=NAMES.index, reverse=True))
    return tuple(next(ours) if name in TABLES else name for name in names)
