use std::collections::BTreeMap;

use super::*;

fn draw(mix: Mix, warehouses: u32, terminal: u32) -> Draw {
    let constants = Constants::of_load(&mut Random::new(1));
    Draw::new(mix, (warehouses, Scale::FULL), constants, (9, 1, terminal))
}

fn inputs(mix: Mix, count: usize) -> Vec<Input> {
    let mut draw = draw(mix, 4, 0);
    (0..count).map(|_| draw.next(5)).collect()
}

/// Whether so many of so many, each with this chance, lie within three standard deviations.
fn is_likely(count: usize, of: usize, chance: f64) -> bool {
    let (of, count) = (of as f64, count as f64);
    let deviation = (of * chance * (1.0 - chance)).sqrt();
    (count - of * chance).abs() <= 3.0 * deviation
}

#[test]
fn each_deck_has_all_cards() {
    for mix in [Mix::Full, Mix::Paper] {
        for deck in inputs(mix, 500).chunks(100) {
            let mut counts: BTreeMap<Kind, u32> = BTreeMap::new();
            for input in deck {
                *counts.entry(input.kind()).or_default() += 1;
            }
            let cards: BTreeMap<Kind, u32> = mix.cards().iter().copied().collect();
            assert_eq!(counts, cards);
        }
    }
}

#[test]
fn rolled_back_orders_and_remote_lines_are_as_many_as_specified() {
    let inputs = inputs(Mix::Full, 40_000);
    let orders: Vec<&NewOrderInput> = inputs
        .iter()
        .filter_map(|input| match input {
            Input::NewOrder(order) => Some(order),
            _ => None,
        })
        .collect();
    let unknown = |order: &&&NewOrderInput| order.lines.iter().any(|line| line.item > 100_000);
    let rolled_back = orders.iter().filter(unknown).count();
    assert!(is_likely(rolled_back, orders.len(), 0.01), "{rolled_back}");
    let lines: Vec<&OrderedItem> = orders.iter().flat_map(|order| &order.lines).collect();
    let remote = lines.iter().filter(|line| line.supplier != 1).count();
    assert!(is_likely(remote, lines.len(), 0.01), "{remote}");
    let counts = orders.iter().map(|order| order.lines.len());
    assert!(counts.clone().all(|count| (5..=15).contains(&count)));
}

#[test]
fn payments_by_name_and_of_other_warehouses_are_as_many_as_specified() {
    let inputs = inputs(Mix::Full, 40_000);
    let payments: Vec<&PaymentInput> = inputs
        .iter()
        .filter_map(|input| match input {
            Input::Payment(payment) => Some(payment),
            _ => None,
        })
        .collect();
    let named = payments
        .iter()
        .filter(|input| matches!(input.who, Who::Last(_)))
        .count();
    assert!(is_likely(named, payments.len(), 0.6), "{named}");
    let remote = payments.iter().filter(|input| input.of.0 != 1).count();
    assert!(is_likely(remote, payments.len(), 0.15), "{remote}");
    let local = payments.iter().filter(|input| input.of.0 == 1);
    assert!(local.clone().all(|input| input.of.1 == input.district));
}

#[test]
fn the_mix_of_the_paper_stays_at_home() {
    for input in inputs(Mix::Paper, 5_000) {
        match input {
            Input::NewOrder(order) => {
                assert!(
                    order
                        .lines
                        .iter()
                        .all(|line| line.supplier == 1 && line.item <= 100_000)
                );
            }
            Input::Payment(payment) => {
                assert_eq!(payment.of.0, 1);
                assert!(matches!(payment.who, Who::Number(_)));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn terminals_have_homes_in_turn_and_payments_of_their_own() {
    let homes: Vec<u32> = (0..6)
        .map(|terminal| draw(Mix::Full, 4, terminal).home)
        .collect();
    assert_eq!(homes, [1, 2, 3, 4, 1, 2]);
    let id = |terminal| draw(Mix::Full, 4, terminal).payment(0).id;
    assert_ne!(id(1), id(2));
}
