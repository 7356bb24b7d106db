#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn the_text_form_comes_back() {
    for (sync, text) in [
        (Sync::Always, "always"),
        (Sync::Never, "never"),
        (Sync::IntervalMs(1), "interval:1ms"),
        (Sync::IntervalMs(60_000), "interval:60000ms"),
    ] {
        assert_eq!(sync.to_string(), text);
        assert_eq!(text.parse(), Ok(sync));
        let json = serde_json::to_string(&sync).unwrap();
        assert_eq!(json, format!("{text:?}"));
        assert_eq!(serde_json::from_str::<Sync>(&json).unwrap(), sync);
    }
}

#[test]
fn other_texts_are_refused_with_a_line_that_helps() {
    for text in [
        "",
        "Always",
        "interval:",
        "interval:0ms",
        "interval:60001ms",
        "interval:+5ms",
        "interval:5s",
    ] {
        let error = text.parse::<Sync>().unwrap_err().to_string();
        assert!(
            error.contains(&format!("{text:?}")) && error.contains("interval:Nms"),
            "{error}"
        );
    }
}
