use dunlin_tpcc::terminal::Figures;

use super::*;

#[test]
fn orders_that_are_rolled_back_are_no_orders() {
    let mut tally = Tally::default();
    let orders = Figures {
        took: vec![Duration::from_millis(2); 60],
        refused: 12,
        rolled_back: 10,
        ..Figures::default()
    };
    tally.kinds.insert(Kind::NewOrder, orders);
    let payments = Figures {
        took: vec![Duration::from_millis(1); 40],
        ..Figures::default()
    };
    tally.kinds.insert(Kind::Payment, payments);
    let (lasted, cpu) = (Duration::from_secs(10), Duration::from_secs(1));
    let figures = figures(&tally, (lasted, Some(cpu), 5));
    assert!((figures.per_s - 10.0).abs() < 1e-9);
    assert!((figures.new_orders_per_min - 300.0).abs() < 1e-9);
    assert!((figures.refused() - 0.12).abs() < 1e-9);
    assert!(
        figures
            .server_us
            .is_some_and(|us| (us - 10_000.0).abs() < 1e-6)
    );
    assert_eq!(figures.kinds.len(), 2);
}
