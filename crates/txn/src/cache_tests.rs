use proptest::prelude::*;

use super::*;

fn key(name: u8) -> Bytes {
    Bytes::copy_from_slice(&[name])
}

#[test]
fn what_is_noted_is_told_and_what_is_beside_it_is_not() {
    let mut cache = Cache::new(Version(5), 100);
    assert_eq!(cache.get_above(Version(0), &key(1)), Version(5));
    cache.note(Version(9), &key(1));
    assert_eq!(cache.get_above(Version(0), &key(1)), Version(9));
    assert_eq!(
        cache.get_above(Version(0), &Bytes::from_static(&[1, 0])),
        Version(5)
    );
    assert_eq!(cache.get_above(Version(0), &key(0)), Version(5));
    cache.note_range(Version(7), &key(1), Some(&key(4)));
    assert_eq!(cache.get_above(Version(0), &key(1)), Version(9));
    assert_eq!(
        cache.get_above(Version(0), &Bytes::from_static(&[1, 0])),
        Version(7)
    );
    assert_eq!(cache.get_above(Version(0), &key(3)), Version(7));
    assert_eq!(cache.get_above(Version(0), &key(4)), Version(5));
    cache.note_range(Version(8), &key(3), None);
    assert_eq!(cache.get_above(Version(0), &key(2)), Version(7));
    assert_eq!(cache.get_above(Version(0), &key(3)), Version(8));
    assert_eq!(cache.get_above(Version(0), &key(255)), Version(8));
    // An empty range.
    cache.note_range(Version(99), &key(3), Some(&key(3)));
    assert_eq!(cache.get_above(Version(0), &key(3)), Version(8));
}

proptest! {
    #[test]
    fn it_never_says_less_than_was_noted(
        notes in proptest::collection::vec((1..100_u64, 0..20_u8, proptest::option::of(0..20_u8), any::<bool>()), 1..80),
        size in prop_oneof![Just(4_usize), Just(16), Just(1_000)],
    ) {
        let mut cache = Cache::new(Version(0), size);
        let mut exact = [Version(0); 20];
        for (at, start, end, is_one) in notes {
            let end = if is_one { Some(start + 1) } else { end };
            if is_one {
                cache.note(Version(at), &key(start));
            } else {
                cache.note_range(Version(at), &key(start), end.map(key).as_ref());
            }
            for name in start..end.unwrap_or(20) {
                exact[usize::from(name)] = exact[usize::from(name)].max(Version(at));
            }
            for name in 0..20 {
                let told = cache.get_above(Version(0), &key(name));
                let above = cache.get_above(Version(50), &key(name));
                prop_assert_eq!(above > Version(50), told > Version(50));
                prop_assert!(above == told || above <= Version(50));
                prop_assert!(told >= exact[usize::from(name)]);
                if size == 1_000 {
                    prop_assert_eq!(told, exact[usize::from(name)]);
                }
            }
        }
    }
}
