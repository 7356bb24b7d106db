//! An HTTP response, taken apart.

use std::time::{Duration, Instant};

/// How long a request is sent again.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before it is.
const PAUSE: Duration = Duration::from_millis(200);

/// Status, headers and body; of a chunked body also where its chunks ended.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub chunks: Vec<Vec<u8>>,
}

impl Answer {
    /// From a head without its empty line.
    pub fn from_head(head: &str) -> Answer {
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or_else(|| panic!("no status line: {first:?}"));
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Answer {
            status,
            headers,
            ..Answer::default()
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The answer to a request that is sent again as long as the server wants that: a node whose machine was paused for a
    /// moment answers so.
    pub fn repeated(may_repeat: bool, mut send: impl FnMut() -> Answer) -> Answer {
        let begin = Instant::now();
        loop {
            let answer = send();
            if !answer.is_passing(may_repeat) || begin.elapsed() > PATIENCE {
                return answer;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the server wants the request to be sent again, or does not know the outcome of one that may be repeated.
    fn is_passing(&self, may_repeat: bool) -> bool {
        let is_wanted = self.header("retry-after").is_some();
        match self.status {
            503 => is_wanted || self.header("dunlin-written") == Some("no"),
            504 => may_repeat,
            _ => false,
        }
    }

    /// The version a client repeats in `If-Match`.
    pub fn version(&self) -> &str {
        self.header("dunlin-version").expect("no version header")
    }
}
