//! File names in a log's directory.

/// `NNNNNNNNNNNNNNNNNNNN.log`.
pub(crate) fn segment(number: u64) -> String {
    format!("{number:020}.log")
}

/// The number of a segment's file name.
pub(crate) fn parse_segment(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// `spare-N.tmp`.
pub(crate) fn spare(number: u64) -> String {
    format!("spare-{number}.tmp")
}

/// Whether a file is a spare one.
pub(crate) fn is_spare(name: &str) -> bool {
    name.starts_with("spare-") && name.ends_with(".tmp")
}

/// What `repair` keeps of a segment cut at an offset.
pub(crate) fn damaged(segment: &str, offset: u64) -> String {
    format!("{segment}.damaged-{offset}")
}
