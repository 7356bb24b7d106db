use std::collections::BTreeSet;

use super::*;

const POPULATION: Population = Population {
    scale: Scale::TENTH,
    seed: 5,
    date_ms: 1_000,
};

fn rows(warehouse: u32) -> Vec<Row> {
    let pieces = POPULATION.pieces();
    pieces
        .flat_map(|piece| POPULATION.rows(warehouse, piece))
        .collect()
}

#[test]
fn a_warehouse_has_as_many_rows_as_specified() {
    let rows = rows(1);
    let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    assert_eq!(count(|row| matches!(row, Row::Warehouse(_))), 1);
    assert_eq!(count(|row| matches!(row, Row::Item(..))), 10_000);
    assert_eq!(count(|row| matches!(row, Row::Stock(..))), 10_000);
    assert_eq!(count(|row| matches!(row, Row::District(..))), 10);
    assert_eq!(count(|row| matches!(row, Row::Customer(..))), 3_000);
    assert_eq!(count(|row| matches!(row, Row::Payment(..))), 3_000);
    assert_eq!(count(|row| matches!(row, Row::Order(..))), 3_000);
    assert_eq!(count(|row| matches!(row, Row::NewOrder(..))), 900);
    let lines = count(|row| matches!(row, Row::Line(..)));
    assert!((29_000..31_000).contains(&lines), "{lines}");
    let bad = count(|row| matches!(row, Row::Customer(_, _, who) if !who.info.is_good));
    assert!((240..360).contains(&bad), "{bad}");
}

#[test]
fn each_customer_of_a_district_has_one_order() {
    let rows = POPULATION.rows(1, Piece::District(3));
    let customers = rows.iter().filter_map(|row| match row {
        Row::Order(_, number, order) => Some((*number, order.customer)),
        _ => None,
    });
    let (numbers, customers): (Vec<u32>, BTreeSet<u32>) = customers.unzip();
    assert_eq!(customers, (1..=300).collect());
    assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
}

#[test]
fn names_are_in_the_order_of_first_names() {
    let rows = POPULATION.rows(1, Piece::District(1));
    let first = |wanted: u32| {
        let customers = rows.iter().find_map(|row| match row {
            Row::Customer(_, number, who) if *number == wanted => Some(who.info.first.clone()),
            _ => None,
        });
        customers.unwrap_or_default()
    };
    let mut all = 0;
    for row in &rows {
        if let Row::Names(_, _, numbers) = row {
            assert!(numbers.iter().map(|n| first(*n)).is_sorted());
            all += numbers.len();
        }
    }
    assert_eq!(all, 300);
}

#[test]
fn rows_are_the_same_each_time_and_differ_between_warehouses_except_items() {
    let of = |warehouse| POPULATION.rows(warehouse, Piece::Stock(1));
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let items = |warehouse| POPULATION.rows(warehouse, Piece::Items(5_001));
    assert_eq!(items(1), items(2));
}
