use super::*;

/// `+t` a batch with the token t, `+-` one without, `>t` the stream passes t, `!n` batch n is acknowledged.
fn reached(steps: &str) -> Vec<Option<char>> {
    let mut window = Window::new(3);
    let step = |step: &str| {
        let mut letters = step.chars();
        let (what, of) = (letters.next(), letters.next().unwrap_or('-'));
        match what {
            Some('+') => {
                window.push(Some(of).filter(|of| *of != '-'));
                None
            }
            Some('>') => window.pass(of),
            _ => window.acknowledge(of.to_digit(10).unwrap_or(99).into()),
        }
    };
    steps.split(' ').map(step).collect()
}

#[test]
fn only_the_longest_acknowledged_prefix_is_committed() {
    let cases: [(&str, &[Option<char>]); 8] = [
        ("+a !0", &[None, Some('a')]),
        ("+a +b !1 !0", &[None, None, None, Some('b')]),
        ("+a +b !0 !1", &[None, None, Some('a'), Some('b')]),
        ("+- +b !0 !1", &[None, None, None, Some('b')]),
        ("+a +- !1 !0", &[None, None, None, Some('a')]),
        (">a", &[Some('a')]),
        ("+a >b !0 >c", &[None, None, Some('b'), Some('c')]),
        (
            "+a +b !7 !1 !1 !0",
            &[None, None, None, None, None, Some('b')],
        ),
    ];
    for (steps, expected) in cases {
        assert_eq!(reached(steps), expected, "{steps}");
    }
}

#[test]
fn room_is_what_is_not_acknowledged() {
    let mut window = Window::new(2);
    assert!(window.has_room());
    window.push(Some('a'));
    let second = window.push(Some('b'));
    assert!(!window.has_room());
    // Answered out of order: it makes room, and is committed only with the first.
    assert_eq!(window.acknowledge(second), None);
    assert!(window.has_room());
}
