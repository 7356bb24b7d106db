#![allow(clippy::unwrap_used)]
use super::*;
use crate::rows::StockInfo;

#[test]
fn a_row_of_stock_is_read_as_it_was_written() {
    let mut quantity = Quantity {
        quantity: -7,
        ytd: 300,
        orders: 2,
        remote: 0,
    };
    let info = StockInfo {
        districts: (1..=10)
            .map(|number| format!("district {number}"))
            .collect(),
        data: "ORIGINAL".to_owned(),
    };
    let row = stock(&quantity, &postcard::to_allocvec(&info).unwrap());
    let (read, rest) = split(&row).unwrap();
    assert_eq!(read, quantity);
    quantity.orders = 1_000;
    let row = stock(&quantity, rest);
    let (read, rest) = split(&row).unwrap();
    assert_eq!(read, quantity);
    assert_eq!(district_info(rest, 10).as_deref(), Some("district 10"));
    assert_eq!(district_info(rest, 0), None);
    assert_eq!(district_info(&rest[1..], 1), None);
    assert_eq!(split(&[0xff; 12]), None);
}
