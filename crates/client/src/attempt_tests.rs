#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn attempts() -> Arc<Attempts> {
    Attempts::new(Duration::from_secs(10))
}

fn underway(attempts: &Arc<Attempts>, times: Times) -> Underway {
    Underway {
        attempts: Arc::clone(attempts),
        times,
    }
}

fn at(server_ms: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(TIME_HEADER, server_ms.into());
    headers
}

#[test]
fn what_follows_an_attempt_given_up_is_stamped_above_its_deadline() {
    let attempts = attempts();
    let first = attempts.times(100_000);
    assert_eq!(
        first,
        Times {
            deadline_ms: 104_000,
            after_ms: None
        }
    );
    drop(underway(&attempts, first));
    let second = attempts.times(100_010);
    assert_eq!(second.after_ms, Some(104_000));
    assert_eq!(second.deadline_ms, 108_000);
    // One that is answered is not given up, whatever comes of it.
    underway(&attempts, second).answered(StatusCode::CREATED, &HeaderMap::new(), 0);
    underway(&attempts, second).answered(StatusCode::PRECONDITION_FAILED, &HeaderMap::new(), 0);
    let mut unwritten = HeaderMap::new();
    unwritten.insert(WRITTEN_HEADER, "no".parse().unwrap());
    for status in [StatusCode::GATEWAY_TIMEOUT, StatusCode::SERVICE_UNAVAILABLE] {
        underway(&attempts, second).answered(status, &unwritten, 0);
    }
    assert_eq!(attempts.times(100_020).after_ms, Some(104_000));
    // These do not say what became of it.
    for unknown in [StatusCode::GATEWAY_TIMEOUT, StatusCode::SERVICE_UNAVAILABLE] {
        let times = attempts.times(200_000);
        underway(&attempts, times).answered(unknown, &HeaderMap::new(), 0);
        assert_eq!(attempts.times(200_000).after_ms, Some(times.deadline_ms));
    }
}

#[test]
fn floors_far_ahead_are_waited_for_and_absurd_ones_dropped() {
    let attempts = attempts();
    attempts.give_up(104_000);
    assert_eq!(attempts.pause_ms(100_000), 0);
    attempts.give_up(130_000);
    assert_eq!(attempts.pause_ms(100_000), 25_000);
    assert_eq!(attempts.times(125_000).after_ms, Some(130_000));
    attempts.give_up(100_000 + 70 * 365 * 86_400_000);
    assert_eq!(attempts.pause_ms(100_000), 0);
    assert_eq!(attempts.times(100_000).after_ms, None);
}

#[test]
fn a_wrong_clock_is_set_right_by_the_first_answer() {
    let attempts = attempts();
    let now_ms = local_ms();
    for (wrong_ms, refused) in [
        (3_600_000, StatusCode::REQUEST_TIMEOUT),
        (0, StatusCode::BAD_REQUEST),
    ] {
        let server_ms = now_ms + wrong_ms;
        let times = attempts.times(now_ms);
        let answer = underway(&attempts, times).answered(refused, &at(server_ms), 0);
        assert_eq!(answer, Answer::Again);
        let deadline_ms = attempts.times(now_ms).deadline_ms;
        assert!(deadline_ms.abs_diff(server_ms + WINDOW_MS) < 5_000);
    }
    // It is not tried for ever.
    let times = attempts.times(now_ms);
    let far = at(now_ms + 99_000);
    let answer = underway(&attempts, times).answered(StatusCode::BAD_REQUEST, &far, 1);
    assert_eq!(answer, Answer::Final);
}

#[test]
fn a_body_that_takes_long_is_given_longer_up_to_the_timeout() {
    let attempts = attempts();
    let now_ms = local_ms();
    let mut lengths = Vec::new();
    loop {
        let times = attempts.times(now_ms);
        lengths.push(times.deadline_ms - now_ms);
        let late = StatusCode::REQUEST_TIMEOUT;
        if underway(&attempts, times).answered(late, &HeaderMap::new(), 0) == Answer::Final {
            break;
        }
    }
    assert_eq!(lengths, [4_000, 8_000, 10_000]);
}
