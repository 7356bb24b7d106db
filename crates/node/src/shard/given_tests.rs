use dunlin_entry::{Origin, Replaces, Stamp, Version};

use super::*;

const HERE: Origin = Origin::new(1, 0, 1);
const OTHERS: Origin = Origin::new(2, 0, 1).in_cluster(7);

#[test]
fn what_is_held_is_not_logged_again() {
    let at = Position::new(HERE, Version(900));
    let at_version = |version, origin| Rank::from(Stamp::new(Version(version), origin));
    let offered = at_version(50, OTHERS);
    let replaced = Replaces {
        stamp: Stamp::new(Version(70), HERE),
        is_mend: false,
    };
    let replacing = Rank::new(Stamp::new(Version(50), OTHERS), Some(replaced));
    // The record, the write, whether the write is logged.
    let cases = [
        ("nothing", None, offered, true),
        ("an older value", Some(at_version(49, HERE)), offered, true),
        ("the same", Some(offered), offered, false),
        (
            "a newer one, a delete as well",
            Some(at_version(51, HERE)),
            offered,
            false,
        ),
        (
            "the end of that value",
            Some(offered.with_expiry(true)),
            offered,
            false,
        ),
        (
            "the value that it ends",
            Some(offered),
            offered.with_expiry(true),
            true,
        ),
        (
            "one of the same time, of a lesser origin",
            Some(at_version(50, HERE)),
            offered,
            true,
        ),
        (
            "one that it replaces",
            Some(at_version(70, HERE)),
            replacing,
            true,
        ),
        (
            "one above what it replaces",
            Some(at_version(71, HERE)),
            replacing,
            false,
        ),
    ];
    for (what, held, offered, is_logged) in cases {
        let decided = decide(held.map(|held| (held, at)), offered);
        let expected = if is_logged {
            Offered::Log
        } else {
            Offered::Held(at)
        };
        assert_eq!(decided, expected, "{what} is held");
    }
}
