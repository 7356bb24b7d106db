use dunlin_entry::Origin;

use super::*;

fn at(ms: u64) -> Version {
    Version::new(ms, 0)
}

#[test]
fn counts_above_what_all_others_know_or_any_clock_can_have_stamped() {
    let far = at(5_000_000);
    for (heard, doubted_ms, unsure) in [
        (None, None, Version::MAX),
        (Some(vec![at(700), at(300)]), None, at(700)),
        (None, Some(1_000), at(1_030)),
        (Some(vec![at(700)]), Some(1_000), at(700)),
        // What is stamped far ahead nobody took over: it was not acknowledged here.
        (Some(vec![at(700), far]), Some(1_000), at(700)),
        (Some(vec![far]), None, far),
        (Some(vec![]), Some(1_000), Version(0)),
    ] {
        let heard: Option<BTreeSet<Version>> = heard.map(|list| list.into_iter().collect());
        assert_eq!(
            unsure_to(heard.as_ref(), doubted_ms, 10),
            unsure,
            "{heard:?} {doubted_ms:?}"
        );
    }
}

fn vector(version: u64) -> Vector {
    let mut vector = Vector::new();
    vector.advance(Origin(1), at(version));
    vector
}

#[test]
fn a_shard_without_doubt_is_sure_of_all() {
    let unsure = Unsure::new(false);
    unsure.hear(&vector(7));
    assert_eq!(unsure.to(|| Some(1_000), 10), Version(0));
}

#[test]
fn what_is_heard_after_all_were_heard_changes_nothing() {
    let unsure = Unsure::new(true);
    assert_eq!(unsure.to(|| None, 10), Version::MAX);
    unsure.hear(&vector(7));
    unsure.hear(&vector(5));
    assert_eq!(unsure.to(|| Some(1_000), 10), at(1_030));
    unsure.all_are_heard();
    unsure.hear(&vector(9));
    // The time that counts is the first that was known to be right.
    assert_eq!(unsure.to(|| Some(2_000), 10), at(7));
    unsure.doubt();
    assert_eq!(unsure.to(|| None, 10), Version::MAX);
    unsure.hear(&vector(2));
    unsure.all_are_heard();
    assert_eq!(unsure.to(|| None, 10), at(2));
}
