use super::*;

#[test]
fn runs_that_overlap_become_one_and_there_are_few() {
    let run = |from: u8, to: u8, newest: u64, try_at_ms: u64| Run {
        from: vec![from],
        to: vec![to],
        newest: Version::new(newest, 0),
        try_at_ms,
    };
    let mut runs = Vec::new();
    add(&mut runs, run(10, 20, 1, 5));
    add(&mut runs, run(30, 40, 2, 6));
    assert_eq!(runs.len(), 2);
    add(&mut runs, run(15, 30, 3, 4));
    assert_eq!(runs, [run(10, 40, 3, 6)]);
    for number in 0..100 {
        add(&mut runs, run(100 + number, 100 + number, 1, 1));
    }
    assert_eq!(runs.len(), RUNS_MAX);
}
