#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn poll(pending: &Pending<u32>, call: u64) -> Poll<Result<u32, CallError>> {
    pending.poll(call, &Context::from_waker(Waker::noop()))
}

#[test]
fn answers_reach_their_calls_in_any_order() {
    let pending = Pending::default();
    let now = Instant::now();
    let calls: Vec<_> = (0..100).map(|_| pending.insert(now, SECOND)).collect();
    for (n, call) in calls.iter().enumerate().rev() {
        assert!(poll(&pending, *call).is_pending());
        pending.complete(*call, Ok(n as u32));
    }
    assert_eq!(pending.waiting(), 0);
    for (n, call) in calls.iter().enumerate() {
        assert_eq!(poll(&pending, *call), Poll::Ready(Ok(n as u32)));
    }
}

#[test]
fn a_late_answer_does_not_reach_the_next_call_in_the_slot() {
    let pending = Pending::default();
    let now = Instant::now();
    let old = pending.insert(now, SECOND);
    pending.forget(old);
    let new = pending.insert(now, SECOND);
    assert_eq!(old as u32, new as u32, "the slot is used again");
    pending.complete(old, Ok(1));
    assert!(poll(&pending, new).is_pending());
    pending.complete(new, Ok(2));
    pending.complete(new, Ok(3));
    assert_eq!(poll(&pending, new), Poll::Ready(Ok(2)));
    pending.complete(u64::MAX, Ok(4));
}

#[test]
fn the_sweep_ends_just_the_calls_whose_time_is_up() {
    let pending = Pending::default();
    let now = Instant::now();
    let late = pending.insert(now, 3 * SECOND);
    let soon = pending.insert(now, SECOND);
    assert_eq!(pending.next_deadline(), Some(now + SECOND));
    pending.sweep(now + SECOND / 2);
    assert!(poll(&pending, soon).is_pending());
    pending.sweep(now + SECOND);
    assert_eq!(
        poll(&pending, soon),
        Poll::Ready(Err(CallError::Timeout(SECOND)))
    );
    assert!(poll(&pending, late).is_pending());
    assert_eq!(pending.next_deadline(), Some(now + 3 * SECOND));
    pending.sweep(now + 3 * SECOND);
    assert_eq!(pending.next_deadline(), None);
    assert_eq!(pending.waiting(), 0);
}

#[test]
fn a_break_ends_all_that_wait_and_keeps_answers_that_came() {
    let pending = Pending::default();
    let now = Instant::now();
    let answered = pending.insert(now, SECOND);
    let waiting = pending.insert(now, SECOND);
    pending.complete(answered, Ok(7));
    pending.fail_all(&CallError::Disconnected);
    assert_eq!(poll(&pending, answered), Poll::Ready(Ok(7)));
    assert_eq!(
        poll(&pending, waiting),
        Poll::Ready(Err(CallError::Disconnected))
    );
}

#[test]
fn slots_are_used_again() {
    let pending = Pending::<u32>::default();
    let now = Instant::now();
    for n in 0..1000 {
        let call = pending.insert(now, SECOND);
        if n % 2 == 0 {
            pending.complete(call, Ok(n));
            assert_eq!(poll(&pending, call), Poll::Ready(Ok(n)));
        } else {
            pending.forget(call);
        }
    }
    assert_eq!(pending.table.borrow().slots.len(), 1);
}
