use super::*;

#[test]
fn the_customer_in_the_middle_is_rounded_up() {
    assert_eq!(middle(&[]), None);
    assert_eq!(middle(&[4]), Some(4));
    assert_eq!(middle(&[4, 5]), Some(4));
    assert_eq!(middle(&[4, 5, 6]), Some(5));
    assert_eq!(middle(&[4, 5, 6, 7]), Some(5));
}

#[test]
fn an_order_costs_its_lines_with_taxes_less_the_discount() {
    assert_eq!(total(10_000, 0, [0, 0]), 10_000);
    assert_eq!(total(10_000, 5_000, [1_000, 1_000]), 6_000);
    assert_eq!(total(999, 1, [1, 1]), 999);
}

#[test]
fn stock_is_filled_up_before_it_ends() {
    assert_eq!(left(20, 10), 10);
    assert_eq!(left(19, 10), 100);
    assert_eq!(left(10, 1), 100);
}
