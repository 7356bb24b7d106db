use super::*;
use dunlin_entry::Version;

fn filter(is_full: bool, rows: &[(&str, u64, bool)]) -> Vec<(String, u64)> {
    let mut filter = Filter {
        keep_from_ms: BTreeMap::from([(3, 100)]),
        is_full,
        last: Vec::new(),
        is_below: false,
    };
    let kept = rows.iter().filter(|(key, ms, is_put)| {
        let row = key::of_version(3, key.as_bytes(), Version::new(*ms, 0));
        let value: &[u8] = if *is_put { &[1, 7] } else { &[0] };
        !filter.goes(&row, value)
    });
    kept.map(|(key, ms, _)| ((*key).to_owned(), *ms)).collect()
}

#[test]
fn a_version_goes_below_one_that_is_old_itself() {
    let rows = [
        ("a", 200, true),
        ("a", 150, true),
        // Whoever reads at 120 sees this.
        ("a", 90, true),
        ("a", 80, true),
        ("a", 70, true),
        ("b", 50, true),
        ("b", 40, true),
    ];
    let kept = [("a", 200), ("a", 150), ("a", 90), ("b", 50)];
    let kept: Vec<(String, u64)> = kept.map(|(k, ms)| (k.to_owned(), ms)).into();
    assert_eq!(filter(false, &rows), kept);
    assert_eq!(filter(true, &rows), kept);
}

#[test]
fn a_delete_goes_only_where_all_is_seen() {
    let rows = [
        ("a", 90, false),
        ("a", 80, true),
        ("b", 150, false),
        ("b", 80, true),
    ];
    let kept = |rows: &[(&str, u64)]| -> Vec<(String, u64)> {
        rows.iter().map(|(k, ms)| ((*k).to_owned(), *ms)).collect()
    };
    assert_eq!(
        filter(false, &rows),
        kept(&[("a", 90), ("b", 150), ("b", 80)])
    );
    assert_eq!(filter(true, &rows), kept(&[("b", 150), ("b", 80)]));
}
