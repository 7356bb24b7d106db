use super::*;

const PAGE: usize = 512 << 10;
const SPENT: Duration = Duration::from_millis(2);

#[test]
fn it_goes_faster_while_clients_do_not_wait() {
    let mut pace = Pace::new(10_000);
    for _ in 0..200 {
        pace.pause(PAGE, SPENT, 500);
    }
    assert_eq!(pace.pause(PAGE, SPENT, 500), Duration::ZERO);
    assert!(pace.bytes_per_s() > 1_000_000_000);
}

#[test]
fn it_yields_to_clients_step_by_step_and_never_stops() {
    let mut pace = Pace::new(10_000);
    let before = pace.bytes_per_s();
    pace.pause(PAGE, SPENT, 20_000);
    let after = pace.bytes_per_s();
    assert!(after < before);
    // The same latency, seen again at once, is still that of the faster copy.
    pace.pause(PAGE, SPENT, 20_000);
    assert_eq!(pace.bytes_per_s(), after);
    for _ in 0..1_000 {
        let pause = pace.pause(PAGE, SPENT, 20_000);
        assert!(pause <= Duration::from_secs(1));
    }
    assert_eq!(pace.bytes_per_s(), 1_000_000);
}
