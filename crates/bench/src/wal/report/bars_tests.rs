#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::png;

fn chart(values: &[(f64, f64)]) -> Bars {
    Bars {
        title: "pad < fragment & back".into(),
        bars: values
            .iter()
            .enumerate()
            .map(|(at, &(value, error))| Bar {
                label: format!("k{at}"),
                value,
                error,
            })
            .collect(),
    }
}

#[test]
fn axes_hold_every_bar_with_its_error() {
    let chart = chart(&[(1.2, 0.3), (-0.4, 0.2), (0.1, 0.5)]);
    assert_eq!(chart.step(), 0.5);
    assert_eq!(chart.range(0.5), (-1.0, 1.5));
    let svg = chart.render();
    for tick in ["-1.0", "-0.5", "0", "0.5", "1.0", "1.5"] {
        assert!(svg.contains(&format!(">{tick}</text>")), "{tick}");
    }
    assert!(svg.contains("pad &lt; fragment &amp; back"));
    assert_eq!(svg.matches("<title>").count(), 3);
    for colour in [LOWER, HIGHER, UNCLEAR] {
        assert_eq!(svg.matches(&format!("fill=\"{colour}\"")).count(), 1);
    }
}

#[test]
fn charts_of_nothing_of_zeros_and_of_nonsense_are_well_formed() {
    for values in [
        &[][..],
        &[(0.0, 0.0)],
        &[(f64::NAN, 0.1), (1e9, f64::INFINITY)],
        &[(3e-9, 1e-12)],
    ] {
        let svg = chart(values).render();
        let png = png::render(&svg).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    }
}

#[test]
fn the_png_has_the_bars_in_it() {
    let empty = png::render(&chart(&[]).render()).unwrap();
    let bars = png::render(&chart(&[(1.0, 0.1), (-1.0, 0.1)]).render()).unwrap();
    // Width and height stand behind the signature and the first chunk's head.
    assert_eq!(bars[16..24], [0, 0, 0x08, 0xc0, 0, 0, 0x03, 0x48]);
    assert_ne!(empty, bars);
    assert!(png::render("<svg").is_err());
}
