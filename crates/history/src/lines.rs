//! A history as text: a JSON object a line, an operation each. `docs/formats.md`, History.

use serde::{Deserialize, Serialize};

use crate::{Kind, Moment, Operation, Outcome, Value};

/// A text that is no history.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}; docs/formats.md says under History what a line must be")]
pub struct LineError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads a history; empty lines are skipped.
pub fn from_lines(text: &str) -> Result<Vec<Operation>, LineError> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(index, text)| {
            let line = serde_json::from_str::<Line>(text).map_err(|error| error.to_string());
            line.and_then(|line| line.into_operation().map_err(str::to_owned))
                .map_err(|reason| LineError {
                    line: index + 1,
                    reason,
                })
        })
        .collect()
}

/// Writes a history; [`from_lines`] reads it.
pub fn to_lines(operations: &[Operation]) -> String {
    let mut text = String::new();
    for operation in operations {
        // Numbers, strings and fixed names: nothing in it can fail.
        if let Ok(line) = serde_json::to_string(&Line::of(operation)) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

#[derive(Serialize, Deserialize)]
struct Line {
    process: u64,
    key: String,
    op: Op,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<Value>,
    #[serde(default)]
    value: Option<Value>,
    invoke: Moment,
    #[serde(default, rename = "return")]
    returned: Option<Moment>,
    outcome: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Moment>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Op {
    Put,
    Delete,
    Swap,
    Get,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Word {
    Ok,
    Unmet,
    Failed,
    Unknown,
}

impl Line {
    fn of(operation: &Operation) -> Line {
        let (op, expected, value) = match operation.kind {
            Kind::Put(value) => (Op::Put, None, Some(value)),
            Kind::Delete => (Op::Delete, None, None),
            Kind::Swap { expected, value } => (Op::Swap, expected, value),
            Kind::Get(found) => (Op::Get, None, found),
        };
        let (outcome, until) = match operation.outcome {
            Outcome::Ok { .. } => (Word::Ok, None),
            Outcome::Unmet { .. } => (Word::Unmet, None),
            Outcome::Failed => (Word::Failed, None),
            Outcome::Unknown { until } => (Word::Unknown, until),
        };
        Line {
            process: operation.process,
            key: operation.key.clone(),
            op,
            expected,
            value,
            invoke: operation.invoked,
            returned: operation.returned(),
            outcome,
            until,
            note: operation.note.clone(),
        }
    }

    fn into_operation(self) -> Result<Operation, &'static str> {
        let kind = match self.op {
            Op::Put => Kind::Put(self.value.ok_or("a put needs its value")?),
            Op::Delete => Kind::Delete,
            Op::Swap => Kind::Swap {
                expected: self.expected,
                value: self.value,
            },
            Op::Get => Kind::Get(self.value),
        };
        let returned = || match self.returned {
            Some(moment) if moment < self.invoke => Err("it returned before its invoke"),
            Some(moment) => Ok(moment),
            None => Err("this outcome needs the moment of its return"),
        };
        let outcome = match self.outcome {
            Word::Ok => Outcome::Ok {
                returned: returned()?,
            },
            Word::Unmet if matches!(self.op, Op::Swap) => Outcome::Unmet {
                returned: returned()?,
            },
            Word::Unmet => return Err("only a swap can be unmet"),
            Word::Failed => Outcome::Failed,
            Word::Unknown => Outcome::Unknown { until: self.until },
        };
        Ok(Operation {
            process: self.process,
            key: self.key,
            kind,
            invoked: self.invoke,
            outcome,
            note: self.note,
        })
    }
}
