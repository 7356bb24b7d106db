//! The form in which a client wants an answer, out of the header `Accept`.

use dunlin_proto::pairs;
use hyper::header::ACCEPT;
use hyper::{HeaderMap, StatusCode};

use super::error::Rejected;

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
        let Some(wanted) = Wanted::of(headers) else {
            return Ok(Form::Lines);
        };
        let quality = |form: Form| wanted.quality(form.media_type(), None);
        let (lines, pairs) = (quality(Form::Lines), quality(Form::Pairs));
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
}

/// What a request accepts.
pub(super) struct Wanted<'a>(Vec<Range<'a>>);

/// One of the media ranges.
struct Range<'a> {
    range: &'a str,
    version: Option<&'a str>,
    quality: f32,
}

impl<'a> Wanted<'a> {
    /// `None` when it does not say.
    pub fn of(headers: &'a HeaderMap) -> Option<Wanted<'a>> {
        let mut values = headers.get_all(ACCEPT).iter().peekable();
        values.peek()?;
        let ranges = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(Range::read);
        Some(Wanted(ranges.collect()))
    }

    /// What the closest range says about a media type, which may have a version; 0 when none does.
    pub fn quality(&self, media_type: &str, version: Option<&str>) -> f32 {
        let matching = self
            .0
            .iter()
            .filter_map(|range| Some((range.closeness(media_type, version)?, range.quality)));
        let closest = matching.max_by_key(|(closeness, _)| *closeness);
        closest.map_or(0.0, |(_, quality)| quality)
    }
}

impl Range<'_> {
    /// `type/subtype;q=0.5`; `None` when the quality is no number.
    fn read(text: &str) -> Option<Range<'_>> {
        let mut parts = text.split(';').map(str::trim);
        let range = parts.next()?;
        let (mut version, mut quality) = (None, 1.0);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            if name.eq_ignore_ascii_case("q") {
                quality = value.parse().ok()?;
            } else if name.eq_ignore_ascii_case("version") {
                version = Some(value.trim_matches('"'));
            }
        }
        Some(Range {
            range,
            version,
            quality,
        })
    }

    fn closeness(&self, media_type: &str, version: Option<&str>) -> Option<Closeness> {
        if self.range.eq_ignore_ascii_case(media_type) {
            return match (self.version, version) {
                (Some(wanted), Some(version)) if wanted != version => None,
                (Some(_), Some(_)) => Some(3),
                _ => Some(2),
            };
        }
        let main = media_type.split('/').next()?;
        match self.range.strip_suffix("/*")? {
            "*" => Some(0),
            range if range.eq_ignore_ascii_case(main) => Some(1),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
