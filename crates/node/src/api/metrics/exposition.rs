//! The form in which figures are told: OpenMetrics, as the library writes it, or the older text
//! format that every scraper reads.

use std::fmt::Write;

use hyper::HeaderMap;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::api::accept::Wanted;

/// A form of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exposition {
    /// Prometheus' text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Exposition {
    /// The form that a request asks for. One that takes neither, as a scraper that asks for protocol
    /// buffers only, gets text all the same: so do Prometheus' own libraries.
    pub fn wanted(headers: &HeaderMap) -> Exposition {
        let Some(wanted) = Wanted::of(headers) else {
            return Exposition::Text;
        };
        let open_metrics = wanted.quality("application/openmetrics-text", Some("1.0.0"));
        if open_metrics > wanted.quality("text/plain", Some("0.0.4")) {
            Exposition::OpenMetrics
        } else {
            Exposition::Text
        }
    }

    /// For the header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Exposition::Text => "text/plain; version=0.0.4; charset=utf-8",
            Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    pub fn write(self, registry: &Registry) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, registry)?;
        match self {
            Exposition::OpenMetrics => Ok(text),
            Exposition::Text => to_text(&text),
        }
    }
}

/// OpenMetrics as the text format 0.0.4: there `_total` and `_info` belong to the name of the family,
/// a family of type `info` is a gauge, and there are no units and no mark at the end.
fn to_text(open_metrics: &str) -> Result<String, std::fmt::Error> {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help: Option<(&str, &str)> = None;
    for line in open_metrics.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            writeln!(text, "{line}")?;
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            // It comes before the type, which decides about the name.
            (Some("HELP"), Some(name), said) => help = Some((name, said.unwrap_or_default())),
            (Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    _ => ("", kind),
                };
                if let Some((_, said)) = help.take().filter(|(named, _)| *named == name) {
                    writeln!(text, "# HELP {name}{suffix} {said}")?;
                }
                writeln!(text, "# TYPE {name}{suffix} {kind}")?;
            }
            _ => {}
        }
    }
    Ok(text)
}

#[cfg(test)]
#[path = "exposition_tests.rs"]
mod tests;
