//! The form in which a client wants a range, out of the header `Accept`.

use hyper::header::ACCEPT;
use hyper::{HeaderMap, StatusCode};

use super::error::Rejected;
use super::pairs;

/// A form of a range. Of two that a client likes as much the first is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One JSON object a line.
    Lines,
    /// Pairs of key and value in binary.
    Pairs,
}

/// How a media range matches, the closer match the greater.
type Closeness = u8;

impl Form {
    /// The form that a request asks for; 406 when it takes neither.
    pub fn wanted(headers: &HeaderMap) -> Result<Form, Rejected> {
        let mut values = headers.get_all(ACCEPT).iter().peekable();
        if values.peek().is_none() {
            return Ok(Form::Lines);
        }
        let ranges: Vec<(&str, f32)> = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(media_range)
            .collect();
        let (lines, pairs) = (Form::Lines.quality(&ranges), Form::Pairs.quality(&ranges));
        match lines.max(pairs) > 0.0 {
            true if pairs > lines => Ok(Form::Pairs),
            true => Ok(Form::Lines),
            false => Err(Rejected::new(
                StatusCode::NOT_ACCEPTABLE,
                format!(
                    "a range comes as {} or {}",
                    Form::Lines.media_type(),
                    Form::Pairs.media_type()
                ),
            )),
        }
    }

    /// Its name in headers.
    pub fn media_type(self) -> &'static str {
        match self {
            Form::Lines => "application/x-ndjson",
            Form::Pairs => pairs::CONTENT_TYPE,
        }
    }

    /// What the closest of `ranges` says about it; 0 when none does.
    fn quality(self, ranges: &[(&str, f32)]) -> f32 {
        let matching = ranges
            .iter()
            .filter_map(|(range, quality)| Some((self.closeness(range)?, *quality)));
        let closest = matching.max_by_key(|(closeness, _)| *closeness);
        closest.map_or(0.0, |(_, quality)| quality)
    }

    fn closeness(self, range: &str) -> Option<Closeness> {
        match range {
            "*/*" => Some(0),
            "application/*" => Some(1),
            range if range.eq_ignore_ascii_case(self.media_type()) => Some(2),
            _ => None,
        }
    }
}

/// `type/subtype;q=0.5` as type and quality; `None` when the quality is no number.
fn media_range(text: &str) -> Option<(&str, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next()?;
    let quality = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("q").then_some(value)
    });
    match quality {
        Some(text) => text.parse().ok().map(|quality| (range, quality)),
        None => Some((range, 1.0)),
    }
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
