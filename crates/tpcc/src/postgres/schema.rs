//! Tables: money in cents, dates in milliseconds since 1970, S_DIST_01 to S_DIST_10 as one column.

/// Makes tables and indexes that are not there.
pub const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS loaded (one int PRIMARY KEY, items int NOT NULL, customers int NOT NULL, seed bigint NOT NULL,
    date_ms bigint NOT NULL, warehouses int NOT NULL);
CREATE TABLE IF NOT EXISTS warehouse (w_id int PRIMARY KEY, w_name text NOT NULL, w_street_1 text NOT NULL,
    w_street_2 text NOT NULL, w_city text NOT NULL, w_state text NOT NULL, w_zip text NOT NULL, w_tax int NOT NULL,
    w_ytd bigint NOT NULL);
CREATE TABLE IF NOT EXISTS district (d_w_id int, d_id int, d_name text NOT NULL, d_street_1 text NOT NULL,
    d_street_2 text NOT NULL, d_city text NOT NULL, d_state text NOT NULL, d_zip text NOT NULL, d_tax int NOT NULL,
    d_ytd bigint NOT NULL, d_next_o_id int NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE IF NOT EXISTS customer (c_w_id int, c_d_id int, c_id int, c_first text NOT NULL, c_middle text NOT NULL,
    c_last text NOT NULL, c_street_1 text NOT NULL, c_street_2 text NOT NULL, c_city text NOT NULL, c_state text NOT NULL,
    c_zip text NOT NULL, c_phone text NOT NULL, c_since bigint NOT NULL, c_credit text NOT NULL, c_credit_lim bigint NOT NULL,
    c_discount int NOT NULL, c_balance bigint NOT NULL, c_ytd_payment bigint NOT NULL, c_payment_cnt int NOT NULL,
    c_delivery_cnt int NOT NULL, c_data text NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX IF NOT EXISTS customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first COLLATE \"C\", c_id);
CREATE TABLE IF NOT EXISTS history (h_c_w_id int NOT NULL, h_c_d_id int NOT NULL, h_c_id int NOT NULL, h_w_id int NOT NULL,
    h_d_id int NOT NULL, h_date bigint NOT NULL, h_amount bigint NOT NULL, h_data text NOT NULL);
CREATE TABLE IF NOT EXISTS orders (o_w_id int, o_d_id int, o_id int, o_c_id int NOT NULL, o_entry_d bigint NOT NULL,
    o_carrier_id int, o_ol_cnt int NOT NULL, o_all_local bool NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE INDEX IF NOT EXISTS orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE IF NOT EXISTS new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE IF NOT EXISTS order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int NOT NULL,
    ol_supply_w_id int NOT NULL, ol_delivery_d bigint, ol_quantity int NOT NULL, ol_amount bigint NOT NULL,
    ol_dist_info text NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE IF NOT EXISTS item (i_id int PRIMARY KEY, i_im_id int NOT NULL, i_name text NOT NULL, i_price bigint NOT NULL,
    i_data text NOT NULL);
CREATE TABLE IF NOT EXISTS stock (s_w_id int, s_i_id int, s_quantity int NOT NULL, s_ytd int NOT NULL,
    s_order_cnt int NOT NULL, s_remote_cnt int NOT NULL, s_dist text[] NOT NULL, s_data text NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id));
";

/// Removes a warehouse.
pub fn clear(warehouse: u32) -> String {
    let tables = [
        ("warehouse", "w_id"),
        ("district", "d_w_id"),
        ("customer", "c_w_id"),
        ("history", "h_w_id"),
        ("orders", "o_w_id"),
        ("new_order", "no_w_id"),
        ("order_line", "ol_w_id"),
        ("stock", "s_w_id"),
    ];
    let delete = |(table, column)| format!("DELETE FROM {table} WHERE {column} = {warehouse};");
    let mut all: String = tables.map(delete).concat();
    if warehouse == 1 {
        all.push_str("DELETE FROM item;");
    }
    all
}
