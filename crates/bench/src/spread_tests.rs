use super::*;

#[test]
fn odd_even_one_and_none() {
    let spread = |numbers: &[f64]| {
        let spread = Spread::of(numbers.iter().copied());
        (spread.median, spread.min, spread.max)
    };
    assert_eq!(spread(&[3.0, 1.0, 2.0]), (2.0, 1.0, 3.0));
    assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), (2.5, 1.0, 4.0));
    assert_eq!(spread(&[7.0]), (7.0, 7.0, 7.0));
    assert_eq!(spread(&[]), (0.0, 0.0, 0.0));
}
