#![allow(clippy::unwrap_used, clippy::expect_used)]
use hyper::header::{ACCEPT, HeaderValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;

use super::*;

#[test]
fn the_header_chooses_the_form() {
    use Exposition::{OpenMetrics, Text};
    for (accept, form) in [
        (None, Text),
        (Some("*/*"), Text),
        (Some("text/plain"), Text),
        (Some("text/plain;version=0.0.4"), Text),
        (Some("text/html, */*;q=0.1"), Text),
        (Some("application/openmetrics-text"), OpenMetrics),
        (
            Some("application/openmetrics-text; version=1.0.0"),
            OpenMetrics,
        ),
        (
            Some("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8"),
            OpenMetrics,
        ),
        // A version that is not spoken here.
        (Some("application/openmetrics-text; version=2.0.0"), Text),
        (
            Some("application/openmetrics-text;q=0.2, text/plain;q=0.3"),
            Text,
        ),
        (Some("application/openmetrics-text;q=0"), Text),
        (Some("application/vnd.google.protobuf"), Text),
        // What Prometheus 2.42 and 3 send.
        (
            Some(
                "application/openmetrics-text;version=1.0.0,\
                 application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,\
                 */*;q=0.1",
            ),
            OpenMetrics,
        ),
        (
            Some(
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                 application/openmetrics-text;version=0.0.1;q=0.5,\
                 text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
                 text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            ),
            OpenMetrics,
        ),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
        }
        assert_eq!(Exposition::wanted(&headers), form, "{accept:?}");
    }
}

#[test]
fn the_older_format_has_other_names_and_no_end() {
    let mut registry = Registry::default();
    let counter = Counter::<u64>::default();
    counter.inc_by(7);
    registry.register("geese", "Geese seen", counter);
    let gauge = Gauge::<i64>::default();
    gauge.set(3);
    registry.register("ducks", "Ducks in sight", gauge);
    registry.register("hide", "The hide", Info::new(vec![("of", "reed")]));
    let waits = Histogram::new([0.5]);
    waits.observe(0.25);
    registry.register("wait_seconds", "How long", waits);
    let open_metrics = Exposition::OpenMetrics.write(&registry).unwrap();
    assert!(
        open_metrics.starts_with("# HELP geese Geese seen.\n# TYPE geese counter\ngeese_total 7\n")
    );
    assert!(open_metrics.ends_with("# EOF\n"));
    let text = "# HELP geese_total Geese seen.\n# TYPE geese_total counter\ngeese_total 7\n\
         # HELP ducks Ducks in sight.\n# TYPE ducks gauge\nducks 3\n\
         # HELP hide_info The hide.\n# TYPE hide_info gauge\nhide_info{of=\"reed\"} 1\n\
         # HELP wait_seconds How long.\n# TYPE wait_seconds histogram\n\
         wait_seconds_sum 0.25\nwait_seconds_count 1\n\
         wait_seconds_bucket{le=\"0.5\"} 1\nwait_seconds_bucket{le=\"+Inf\"} 1\n";
    assert_eq!(Exposition::Text.write(&registry).unwrap(), text);
}
