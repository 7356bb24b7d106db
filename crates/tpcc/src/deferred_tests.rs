use super::*;

#[test]
fn a_line_of_the_log_names_the_orders_by_district() {
    let delivery = Delivery {
        queued_ms: 5,
        done_ms: 9,
        warehouse: 2,
        carrier: 7,
        orders: vec![(1, 2_101), (3, 2_102)],
    };
    let line = "queued_ms=5 done_ms=9 warehouse=2 carrier=7 orders=1:2101,3:2102";
    assert_eq!(delivery.to_string(), line);
    let none = Delivery {
        orders: Vec::new(),
        ..delivery
    };
    let line = "queued_ms=5 done_ms=9 warehouse=2 carrier=7 orders=";
    assert_eq!(none.to_string(), line);
}
