use super::*;

#[test]
fn figures_are_of_all_clients_and_name_the_least() {
    let ms = Duration::from_millis;
    let worked = [
        Worked {
            waits: vec![ms(1), ms(2), ms(3)],
            waiting: ms(0),
            refused: 2,
        },
        Worked {
            waits: vec![ms(4)],
            waiting: ms(90),
            refused: 0,
        },
    ];
    let figures = figures(&worked, ms(2_000), ms(4));
    assert_eq!(
        (figures.per_s, figures.refused, figures.least),
        (2.0, 0.5, 0.5)
    );
    assert_eq!(
        (figures.p50_ms, figures.p99_ms, figures.longest_ms),
        (3.0, 4.0, 90.0)
    );
    assert_eq!(figures.cpu_us, 1_000.0);
}

#[test]
fn a_client_without_a_commit_is_seen() {
    let worked = [Worked::default(), Worked::default()];
    let figures = figures(&worked, Duration::from_secs(1), Duration::ZERO);
    assert_eq!(
        (figures.per_s, figures.least, figures.p99_ms),
        (0.0, 0.0, 0.0)
    );
}
