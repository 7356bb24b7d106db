#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::axis::{BOTTOM, HEIGHT, TOP};
use crate::is_svg;

fn chart(points: &[(f64, f64)], mean: f64) -> String {
    Series {
        title: "rate & <more>".to_owned(),
        points: points.to_vec(),
        mean,
    }
    .render()
}

#[test]
fn every_point_is_inside_and_higher_values_stand_higher() {
    let svg = chart(&[(1.0, 3.0), (2.0, 97.0), (3.0, 50.0)], 50.0);
    let (_, rest) = svg.split_once("points=\"").unwrap();
    let (points, _) = rest.split_once('"').unwrap();
    let points: Vec<(f64, f64)> = points
        .split(' ')
        .map(|point| point.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    assert_eq!(points.len(), 3);
    for (x, y) in &points {
        assert!((LEFT..=WIDTH - RIGHT).contains(x) && (TOP..=HEIGHT - BOTTOM).contains(y));
    }
    assert!(points[1].1 < points[2].1 && points[2].1 < points[0].1);
    assert!(svg.contains("rate &amp; &lt;more&gt;") && svg.contains("mean 50"));
}

#[test]
fn any_values_can_be_drawn() {
    for points in [&[][..], &[(0.0, 0.0)], &[(1.0, f64::NAN), (2.0, 1e12)]] {
        assert!(is_svg(&chart(points, 0.0)));
    }
}
