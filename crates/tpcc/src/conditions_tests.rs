#![allow(clippy::unwrap_used)]
use super::*;
use crate::memory::loaded;
use crate::population::Population;
use crate::rows::Line;

const SCALE: Scale = Scale {
    items: 100,
    customers: 30,
};
/// An order that is not delivered, and one that is.
const NEW: OrderId = (1, 4, 30);
const OLD: OrderId = (1, 4, 1);

fn tables() -> Tables {
    loaded(
        2,
        Population {
            scale: SCALE,
            seed: 3,
            date_ms: 1,
        },
    )
}

/// The conditions that do not hold behind a change.
fn broken(change: impl FnOnce(&mut Tables)) -> Vec<usize> {
    let mut tables = tables();
    change(&mut tables);
    let broken = check(&tables, SCALE, Some(&Delivered::new()));
    let mut numbers: Vec<usize> = broken.iter().map(|broken| broken.condition).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn line(tables: &mut Tables, of: OrderId) -> &mut Line {
    tables.lines.get_mut(&(of, 1)).unwrap()
}

#[test]
fn all_conditions_hold_of_what_is_loaded() {
    assert_eq!(broken(|_| ()), Vec::<usize>::new());
}

#[test]
fn the_first_finds_a_district_whose_payments_are_not_in_its_warehouse() {
    let change = |tables: &mut Tables| tables.districts.get_mut(&(1, 4)).unwrap().ytd += 1;
    assert_eq!(broken(change), [1, 9]);
}

#[test]
fn the_second_finds_an_order_beyond_the_next() {
    let change = |tables: &mut Tables| tables.districts.get_mut(&(1, 4)).unwrap().next_order -= 1;
    assert_eq!(broken(change), [2]);
}

#[test]
fn the_third_finds_a_new_order_that_is_left_out() {
    let change = |tables: &mut Tables| {
        tables.new_orders.remove(&(1, 4, 25));
        let order = tables.orders.get_mut(&(1, 4, 25)).unwrap();
        order.carrier = Some(1);
        let count = order.lines;
        for number in 1..=count {
            tables.lines.remove(&((1, 4, 25), number));
        }
        tables.orders.get_mut(&(1, 4, 25)).unwrap().lines = 0;
    };
    assert_eq!(broken(change), [3, 11]);
}

#[test]
fn the_fourth_finds_a_line_too_many_in_a_district() {
    let change = |tables: &mut Tables| {
        let line = line(tables, NEW).clone();
        tables.lines.insert((NEW, 99), line);
    };
    assert_eq!(broken(change), [4, 6]);
}

#[test]
fn the_fifth_finds_a_new_order_with_a_carrier() {
    let change = |tables: &mut Tables| {
        tables.orders.get_mut(&NEW).unwrap().carrier = Some(1);
        let count = tables.orders[&NEW].lines;
        for number in 1..=count {
            let line = tables.lines.get_mut(&(NEW, number)).unwrap();
            line.delivery_ms = Some(1);
            line.amount = 0;
        }
    };
    assert_eq!(broken(change), [5]);
}

#[test]
fn the_sixth_finds_lines_that_belong_to_another_order() {
    let change = |tables: &mut Tables| {
        let moved = tables.lines.remove(&(NEW, 1)).unwrap();
        tables.lines.insert(((1, 4, 29), 99), moved);
    };
    assert_eq!(broken(change), [6]);
}

#[test]
fn the_seventh_finds_a_line_that_is_not_delivered_of_an_order_that_is() {
    assert_eq!(broken(|tables| line(tables, OLD).delivery_ms = None), [7]);
}

#[test]
fn the_eighth_finds_a_payment_that_its_warehouse_does_not_count() {
    let change = |tables: &mut Tables| {
        *tables.warehouses.get_mut(&1).unwrap() += 5;
        tables.districts.get_mut(&(1, 4)).unwrap().ytd += 5;
    };
    assert_eq!(broken(change), [8, 9]);
}

#[test]
fn the_ninth_finds_a_payment_that_another_district_counts() {
    let change = |tables: &mut Tables| {
        tables.districts.get_mut(&(1, 4)).unwrap().ytd += 5;
        tables.districts.get_mut(&(1, 5)).unwrap().ytd -= 5;
    };
    assert_eq!(broken(change), [9]);
}

#[test]
fn the_tenth_finds_a_payment_of_another_customer() {
    let change = |tables: &mut Tables| {
        let payment = &mut tables.payments[0].1;
        payment.customer.number = payment.customer.number % SCALE.customers + 1;
    };
    assert_eq!(broken(change), [10]);
}

#[test]
fn the_eleventh_finds_an_order_that_was_delivered_unseen() {
    let delivered = Delivered::from([((1, 4), 1)]);
    let broken = check(&tables(), SCALE, Some(&delivered));
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(broken[0].condition, 11);
    assert_eq!(check(&tables(), SCALE, None), []);
}

#[test]
fn the_twelfth_finds_a_payment_that_its_customer_does_not_count() {
    let change = |tables: &mut Tables| {
        let id = tables.payments[0].1.customer;
        tables.accounts.get_mut(&id).unwrap().ytd_payment += 5;
    };
    assert_eq!(broken(change), [12]);
}
