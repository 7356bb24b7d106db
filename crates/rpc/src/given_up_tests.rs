use super::*;
use std::time::Duration;

fn is_over(given_up: &mut GivenUp) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    Pin::new(given_up).poll(&mut cx).is_ready()
}

#[test]
fn a_cancel_reaches_its_call_alone() {
    let watches = Rc::new(Watches::default());
    let mut one = watches.watch((0, 7), None);
    let mut other = watches.watch((1, 7), None);
    watches.cancel((0, 8));
    assert!(!is_over(&mut one));
    watches.cancel((0, 7));
    watches.cancel((0, 7));
    assert!(is_over(&mut one) && !is_over(&mut other));
}

#[test]
fn nothing_is_kept_of_a_call_that_has_ended() {
    let watches = Rc::new(Watches::default());
    let first = watches.watch((0, 7), None);
    let mut again = watches.watch((0, 7), None);
    drop(first);
    assert_eq!(watches.len(), 1);
    watches.cancel((0, 7));
    assert!(is_over(&mut again));
    drop(again);
    assert_eq!(watches.len(), 0);
}

#[test]
fn the_end_of_a_connection_ends_all_of_its_calls() {
    let watches = Rc::new(Watches::default());
    let mut before = watches.watch((0, 1), None);
    watches.close();
    let mut after = watches.watch((0, 2), None);
    assert!(is_over(&mut before) && is_over(&mut after));
}

#[tokio::test(start_paused = true)]
async fn its_time_is_over_when_it_was_said_to_be() {
    let watches = Rc::new(Watches::default());
    let deadline = Instant::now() + Duration::from_millis(30);
    let mut given_up = watches.watch((0, 1), Some(deadline));
    tokio::time::advance(Duration::from_millis(20)).await;
    assert!(!is_over(&mut given_up));
    given_up.await;
    assert!(Instant::now() >= deadline);
}
