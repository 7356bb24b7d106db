#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn curve(points: &[(f64, u64)]) -> Curve {
    Curve {
        name: "PUT <3> & GET".into(),
        points: points.to_vec(),
    }
}

#[test]
fn axes_are_logarithmic_in_nines_and_decades() {
    let width = WIDTH - LEFT - RIGHT;
    assert_eq!(x(0.0), LEFT);
    assert!((x(90.0) - LEFT - width / 4.0).abs() < 1e-6);
    assert!((x(99.99) - LEFT - width).abs() < 1e-6);
    assert_eq!(x(100.0), LEFT + width);
    assert_eq!(y(10.0, 10_000.0), HEIGHT - BOTTOM);
    assert_eq!(y(10_000.0, 10_000.0), TOP);
    assert_eq!(
        top_us(&[curve(&[(99.0, 10_001), (100.0, 9_000_000)])]),
        100_000.0
    );
    assert_eq!(top_us(&[]), 10_000.0);
}

#[test]
fn every_curve_is_drawn_and_its_name_escaped() {
    let svg = render(&[
        curve(&[(0.0, 30), (99.99, 5_000), (100.0, 1 << 40)]),
        curve(&[]),
    ]);
    assert_eq!(svg.matches("<polyline").count(), 2);
    assert!(svg.contains("PUT &lt;3&gt; &amp; GET"));
    assert!(svg.contains(">10 ms<"), "{svg}");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}
