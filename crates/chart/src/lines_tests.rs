#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::is_svg;

#[test]
fn each_line_has_its_colour_and_name_on_common_axes() {
    let svg = Lines {
        title: "rates".to_owned(),
        lines: vec![
            ("a & b".to_owned(), vec![(0.0, 50.0), (4.0, 100.0)]),
            ("c".to_owned(), vec![(0.0, 50.0), (2.0, 0.0)]),
        ],
    }
    .render();
    let points: Vec<&str> = svg
        .split("points=\"")
        .skip(1)
        .map(|rest| rest.split_once('"').unwrap().0)
        .collect();
    assert_eq!(points, ["64.0,200.0 944.0,44.0", "64.0,200.0 504.0,356.0"]);
    assert!(svg.contains(">a &amp; b</text>"));
    for colour in &COLOURS[..2] {
        assert_eq!(svg.matches(colour).count(), 2, "{colour}");
    }
    assert!(is_svg(&svg));
}

#[test]
fn nothing_can_be_drawn() {
    let nothing = Lines {
        title: String::new(),
        lines: vec![("none".to_owned(), Vec::new())],
    };
    assert!(is_svg(&nothing.render()));
}
