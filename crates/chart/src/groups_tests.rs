#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::is_svg;

#[test]
fn bars_stand_in_their_groups_as_high_as_their_values() {
    let bar = |value: f64| {
        Some(Bar {
            value,
            min: value / 2.0,
            max: value * 1.1,
        })
    };
    let svg = Groups {
        title: "MB/s".to_owned(),
        names: vec!["one".to_owned(), "two".to_owned()],
        groups: vec![
            ("small".to_owned(), vec![bar(100.0), bar(50.0)]),
            ("large".to_owned(), vec![None, bar(200.0)]),
        ],
    }
    .render();
    // Background, two squares of the legend, three bars.
    assert_eq!(svg.matches("<rect").count(), 6);
    let height = |title: &str| -> f64 {
        let bar = svg.lines().find(|line| line.contains(title)).unwrap();
        let (_, rest) = bar.split_once("height=\"").unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    assert!((height("small, one: 100.0 (50.0 to 110.0)") - 2.0 * height("small, two")).abs() < 0.2);
    assert!((height("large, two") - 4.0 * height("small, two")).abs() < 0.2);
    assert!(is_svg(&svg));
}

#[test]
fn nothing_can_be_drawn() {
    let nothing = Groups {
        title: String::new(),
        names: Vec::new(),
        groups: Vec::new(),
    };
    assert!(is_svg(&nothing.render()));
}
