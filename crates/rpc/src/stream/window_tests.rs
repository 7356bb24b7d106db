use super::*;

#[test]
fn what_was_granted_comes_back_by_halves() {
    let mut window = Window::new(100);
    // What comes, what is read: whether it may, and what is granted.
    for (came, may, read, granted) in [
        (60, true, 0, None),
        (40, true, 0, None),
        (1, false, 0, None),
        (0, true, 49, None),
        (1, false, 1, Some(50)),
        (50, true, 30, None),
        (1, false, 20, Some(50)),
        (51, false, 50, Some(50)),
        (100, true, 100, Some(100)),
    ] {
        assert_eq!(window.came(came), may, "{came}");
        let given = (read > 0).then(|| window.read(read)).flatten();
        assert_eq!(given, granted, "{read}");
        assert!(window.with_writer + window.freed <= window.size);
    }
}
