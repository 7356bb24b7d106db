#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn last_names_are_made_of_syllables() {
    assert_eq!(last_name(0), "BARBARBAR");
    assert_eq!(last_name(371), "PRICALLYOUGHT");
    assert_eq!(last_name(999), "EINGEINGEING");
}

#[test]
fn the_constant_of_last_names_differs_between_load_and_run() {
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let load = Constants::of_load(&mut random);
        let delta = load.of_run(&mut random).last.abs_diff(load.last);
        assert!((65..=119).contains(&delta), "{delta}");
        assert!(delta != 96 && delta != 112, "{delta}");
    }
}

#[test]
fn non_uniform_numbers_stay_within_their_bounds_and_favour_some() {
    let mut random = Random::new(7);
    let constants = Constants::of_load(&mut random);
    let mut counts = vec![0_u32; 3_001];
    for _ in 0..300_000 {
        counts[random.customer(constants, 3_000) as usize] += 1;
    }
    assert_eq!(counts[0], 0);
    let greatest = counts.iter().max().unwrap();
    assert!(*greatest > 400, "{greatest}: 100 on average");
}

#[test]
fn one_of_ten_is_original() {
    let mut random = Random::new(3);
    let texts: Vec<String> = (0..10_000).map(|_| random.data()).collect();
    assert!(texts.iter().all(|text| (26..=50).contains(&text.len())));
    let original = texts.iter().filter(|text| text.contains(ORIGINAL)).count();
    assert!((900..1_100).contains(&original), "{original}");
}

#[test]
fn a_seed_has_one_sequence_for_each_user() {
    let texts = |user| Random::of(1, user).text(20, 20);
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
}

#[test]
fn think_times_have_their_mean_and_an_end() {
    let mut random = Random::new(11);
    let mean = Duration::from_secs(12);
    let times: Vec<Duration> = (0..100_000).map(|_| random.think(mean)).collect();
    let average = times.iter().sum::<Duration>() / 100_000;
    assert!(
        average.abs_diff(mean) < Duration::from_millis(200),
        "{average:?}"
    );
    assert!(times.iter().all(|time| *time <= 10 * mean));
    assert_eq!(random.think(Duration::ZERO), Duration::ZERO);
}
