use super::*;
use Mode::{Off, Offered, Required};

/// Who lets whom in, as the four decisions together say.
#[derive(Debug, PartialEq, Eq)]
enum Meeting {
    Proven,
    Plain,
    Refused,
}

/// Plays an opening: `same` is whether the acceptor knows the opener's secret.
fn meet(opener: Mode, acceptor: Mode, same: bool) -> Meeting {
    let plainly = || match serves(acceptor, *b"DNLN") {
        Serves::Plainly => Meeting::Plain,
        _ => Meeting::Refused,
    };
    if opens(opener) == Opens::Plainly {
        return plainly();
    }
    let refusal = match serves(acceptor, MAGIC) {
        Serves::Challenging if same => return Meeting::Proven,
        Serves::Challenging => Refusal::Wrong,
        Serves::WithoutSecret => Refusal::NoSecret,
        Serves::Plainly | Serves::Asking => panic!("a preamble is taken for a hello"),
    };
    if falls_back(opener, refusal) {
        plainly()
    } else {
        Meeting::Refused
    }
}

#[test]
fn who_lets_whom_in() {
    let cases = [
        // opener, acceptor, with the same secret, with another
        (Off, Off, Meeting::Plain, Meeting::Plain),
        (Off, Offered, Meeting::Plain, Meeting::Plain),
        (Off, Required, Meeting::Refused, Meeting::Refused),
        (Offered, Off, Meeting::Plain, Meeting::Plain),
        (Offered, Offered, Meeting::Proven, Meeting::Plain),
        (Offered, Required, Meeting::Proven, Meeting::Refused),
        (Required, Off, Meeting::Refused, Meeting::Refused),
        (Required, Offered, Meeting::Proven, Meeting::Refused),
        (Required, Required, Meeting::Proven, Meeting::Refused),
    ];
    for (opener, acceptor, same, other) in cases {
        assert_eq!(meet(opener, acceptor, true), same, "{opener} {acceptor}");
        assert_eq!(meet(opener, acceptor, false), other, "{opener} {acceptor}");
    }
}

#[test]
fn steps_of_a_rollout_always_meet() {
    let steps = [Off, Offered, Required];
    for pair in steps.windows(2) {
        for (a, b) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            assert_ne!(meet(a, b, true), Meeting::Refused, "{a} {b}");
        }
    }
}

#[test]
fn only_who_offers_falls_back_and_never_to_a_liar() {
    let all = [
        Refusal::Asked,
        Refusal::Wrong,
        Refusal::NoSecret,
        Refusal::Impostor,
        Refusal::Version(2),
        Refusal::OtherDoor,
        Refusal::Strange,
        Refusal::Unproven,
        Refusal::WrongHere,
        Refusal::NoSecretHere,
    ];
    for refusal in all {
        assert!(!falls_back(Off, refusal), "{refusal:?}");
        assert!(!falls_back(Required, refusal), "{refusal:?}");
    }
    assert!(!falls_back(Offered, Refusal::Impostor));
}

#[test]
fn any_other_first_bytes_are_a_hello_or_refused() {
    for first in [*b"DNLN", *b"DNCP", [0; 4], *b"GET ", [0x16, 3, 1, 0]] {
        assert_eq!(serves(Off, first), Serves::Plainly);
        assert_eq!(serves(Offered, first), Serves::Plainly);
        assert_eq!(serves(Required, first), Serves::Asking);
    }
}
