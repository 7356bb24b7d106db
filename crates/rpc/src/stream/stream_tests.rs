//! Both sides of a connection's streams, and two pipes between them.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::stream::writing::{Opened, Out, Writing};
use crate::stream::{QUANTUM_BYTES, WINDOW_BYTES_MIN};
use proptest::prelude::*;
use std::collections::BTreeMap;

const STREAMS: usize = 4;

fn poll_none() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[derive(Debug, Clone)]
enum Op {
    Open(usize),
    Offer(usize, usize),
    End(usize),
    Read(usize),
    Stop(usize),
    Write,
    ToReader,
    ToWriter,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let size = prop_oneof![Just(0), 1..600usize, Just(WINDOW_BYTES_MIN), 1..80_000usize];
    let window = prop_oneof![Just(WINDOW_BYTES_MIN), 4_096..200_000usize];
    let op = prop_oneof![
        1 => window.prop_map(Op::Open),
        4 => (0..STREAMS + 1, size).prop_map(|(n, size)| Op::Offer(n, size)),
        1 => (0..STREAMS + 1).prop_map(Op::End),
        6 => (0..STREAMS + 1).prop_map(Op::Read),
        1 => (0..STREAMS + 1).prop_map(Op::Stop),
        8 => Just(Op::Write),
        8 => Just(Op::ToReader),
        4 => Just(Op::ToWriter),
    ];
    proptest::collection::vec(op, 0..400)
}

enum Said {
    Open(u64, usize),
    Credit(u64, usize),
    Stop(u64),
}

/// What is known of one stream from outside.
#[derive(Default)]
struct Seen {
    window: usize,
    offered: Vec<Vec<u8>>,
    read: Vec<Vec<u8>>,
    begun: Vec<u8>,
    is_refused: bool,
    is_ended: bool,
    is_stopped: bool,
    ending: Option<Ending>,
}

struct Pair {
    reading: Reading,
    writing: Writing,
    to_writer: VecDeque<Said>,
    to_reader: VecDeque<Out>,
    seen: BTreeMap<u64, Seen>,
    /// Those that the writer has.
    open: Vec<u64>,
    items: u8,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            reading: Reading::default(),
            writing: Writing::new(STREAMS),
            to_writer: VecDeque::new(),
            to_reader: VecDeque::new(),
            seen: BTreeMap::new(),
            open: Vec::new(),
            items: 0,
        }
    }

    fn nth(&self, n: usize) -> Option<u64> {
        self.seen.keys().rev().nth(n).copied()
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Open(window) => {
                let stream = self.reading.open(window);
                let seen = Seen {
                    window,
                    ..Seen::default()
                };
                self.seen.insert(stream, seen);
                self.to_writer.push_back(Said::Open(stream, window));
            }
            Op::Offer(n, size) => {
                let Some(stream) = self.nth(n).filter(|n| self.open.contains(n)) else {
                    return;
                };
                let seen = self.seen.get_mut(&stream).unwrap();
                let sent = self.writing.poll_sent(stream, &poll_none());
                if seen.is_ended || sent != Poll::Ready(true) {
                    return;
                }
                self.items = self.items.wrapping_add(1);
                let item: Vec<u8> = (0..size).map(|at| (at / 7) as u8 ^ self.items).collect();
                assert!(self.writing.offer(stream, item.clone().into()));
                seen.offered.push(item);
            }
            Op::End(n) => {
                if let Some(stream) = self.nth(n).filter(|n| self.open.contains(n)) {
                    self.writing.end(stream, Ok(()));
                    self.seen.get_mut(&stream).unwrap().is_ended = true;
                }
            }
            Op::Read(n) => drop(self.nth(n).map(|stream| self.read(stream))),
            Op::Stop(n) => {
                if let Some(stream) = self.nth(n) {
                    self.seen.get_mut(&stream).unwrap().is_stopped = true;
                    if self.reading.stop(stream) {
                        self.to_writer.push_back(Said::Stop(stream));
                    }
                }
            }
            Op::Write => self.to_reader.extend(self.writing.next()),
            Op::ToReader => drop(self.bring_to_reader()),
            Op::ToWriter => drop(self.bring_to_writer()),
        }
        self.check();
    }

    fn read(&mut self, stream: u64) -> bool {
        let seen = self.seen.get_mut(&stream).unwrap();
        if seen.is_stopped || seen.ending.is_some() {
            return false;
        }
        match self.reading.poll(stream, &poll_none()) {
            Poll::Pending => return false,
            Poll::Ready(Read::End(ending)) => seen.ending = Some(ending),
            Poll::Ready(Read::Part(part, granted)) => {
                seen.begun.extend(&part.bytes);
                if part.is_last {
                    seen.read.push(std::mem::take(&mut seen.begun));
                }
                if let Some(bytes) = granted {
                    self.to_writer.push_back(Said::Credit(stream, bytes));
                }
            }
        }
        true
    }

    fn bring_to_reader(&mut self) -> bool {
        match self.to_reader.pop_front() {
            None => return false,
            Some(Out::Part {
                stream,
                bytes,
                is_last,
            }) => self.reading.part(stream, &bytes, is_last).unwrap(),
            Some(Out::End { stream, ending }) => {
                self.open.retain(|open| *open != stream);
                self.reading.end(stream, ending).unwrap();
            }
        }
        true
    }

    fn bring_to_writer(&mut self) -> bool {
        match self.to_writer.pop_front() {
            None => return false,
            Some(Said::Open(stream, window)) => match self.writing.open(stream, window).unwrap() {
                Opened::Yes(_) => self.open.push(stream),
                Opened::TooMany => {
                    self.seen.get_mut(&stream).unwrap().is_refused = true;
                    let ending = Err(CallError::Overloaded);
                    self.to_reader.push_back(Out::End { stream, ending });
                }
            },
            Some(Said::Credit(stream, bytes)) => self.writing.credit(stream, bytes).unwrap(),
            Some(Said::Stop(stream)) => {
                if self.writing.stop(stream).unwrap() {
                    let ending = Ok(());
                    self.to_reader.push_back(Out::End { stream, ending });
                }
            }
        }
        true
    }

    /// No more is under way and held than was granted, and credit is neither lost nor made.
    fn check(&self) {
        let windows: usize = self.seen.values().map(|seen| seen.window).sum();
        assert!(self.reading.held_bytes() <= windows);
        for (stream, seen) in &self.seen {
            let under_way: usize = self
                .to_reader
                .iter()
                .map(|out| match out {
                    Out::Part {
                        stream: of, bytes, ..
                    } if of == stream => cost(bytes),
                    _ => 0,
                })
                .sum();
            let credit = self.writing.credit_of(*stream).unwrap_or(0);
            assert!(under_way + credit <= seen.window, "{stream}");
            for (read, offered) in seen.read.iter().zip(&seen.offered) {
                assert!(read == offered, "{stream}");
            }
        }
    }

    /// All is read to its end.
    fn finish(&mut self) {
        loop {
            let mut moved = self.bring_to_writer() | self.bring_to_reader();
            for stream in self.open.clone() {
                self.writing.end(stream, Ok(()));
            }
            let out = self.writing.next();
            moved |= out.is_some();
            self.to_reader.extend(out);
            for stream in self.seen.keys().copied().collect::<Vec<_>>() {
                moved |= self.read(stream);
            }
            self.check();
            if !moved {
                break;
            }
        }
        assert_eq!(self.reading.len(), 0);
        assert!(!self.writing.has_turns());
        for seen in self.seen.values().filter(|seen| !seen.is_stopped) {
            assert!(seen.read == seen.offered && seen.begun.is_empty());
            let ending = seen.ending.as_ref().unwrap();
            assert_eq!(ending.is_err(), seen.is_refused);
        }
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_doubled_or_beyond_its_credit_whatever_the_order(ops in ops()) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.run(op);
        }
        pair.finish();
    }
}

#[test]
fn streams_have_turns_of_a_quantum() {
    let mut writing = Writing::new(3);
    for stream in 1..=3 {
        writing.open(stream, 10 * QUANTUM_BYTES).unwrap();
        writing.offer(stream, vec![0; 5 * QUANTUM_BYTES].into());
        writing.end(stream, Ok(()));
    }
    let mut turns = Vec::new();
    while let Some(out) = writing.next() {
        match out {
            Out::Part { stream, bytes, .. } => {
                assert_eq!(bytes.len(), QUANTUM_BYTES);
                turns.push(stream);
            }
            Out::End { stream, .. } => turns.push(10 * stream),
        }
    }
    assert_eq!(turns, [&[1, 2, 3].repeat(5)[..], &[10, 20, 30]].concat());
}

#[test]
fn what_a_reader_must_not_do_is_a_breach() {
    let mut writing = Writing::new(1);
    assert!(writing.credit(1, 1).is_err() && writing.stop(1).is_err());
    assert!(matches!(writing.open(5, 100), Ok(Opened::Yes(_))));
    assert!(writing.open(5, 100).is_err() && writing.open(4, 100).is_err());
    assert!(writing.open(6, usize::MAX).is_err());
    assert!(writing.credit(5, usize::MAX).is_err());
    assert!(matches!(writing.open(7, 100), Ok(Opened::TooMany)));
    // What is said of a stream that has just ended was on its way.
    assert_eq!(writing.stop(5), Ok(true));
    assert_eq!(writing.stop(5), Ok(false));
    assert_eq!(
        (writing.credit(5, 10), writing.credit(7, 10)),
        (Ok(()), Ok(()))
    );
    assert!(writing.credit(8, 10).is_err());
}

#[test]
fn what_a_writer_must_not_do_is_a_breach() {
    let mut reading = Reading::default();
    assert!(reading.part(1, b"", true).is_err() && reading.end(1, Ok(())).is_err());
    let (one, two) = (reading.open(4_096), reading.open(4_096));
    assert!(
        reading
            .part(one, &[0; 4_096 - PART_COST_BYTES], false)
            .is_ok()
    );
    assert!(reading.part(one, b"", false).is_err());
    // Stopped, it has no more credit than before.
    assert!(reading.stop(two));
    assert!(reading.part(two, &[0; 4_000], true).is_ok());
    assert_eq!(reading.held_bytes(), 4_096);
    assert!(reading.part(two, &[0; 100], true).is_err());
    assert!(reading.end(two, Ok(())).is_ok());
    assert!(reading.end(two, Ok(())).is_err());
    assert!(reading.end(one, Ok(())).is_ok());
    assert!(reading.part(one, b"", true).is_err());
}

#[test]
fn what_had_come_before_a_break_is_read() {
    let mut reading = Reading::default();
    let stream = reading.open(4_096);
    reading.part(stream, b"a", true).unwrap();
    reading.break_off();
    assert!(!matches!(
        reading.poll(stream, &poll_none()),
        Poll::Ready(Read::Part(_, Some(_))) | Poll::Pending
    ));
    let ended = Poll::Ready(Read::End(Err(CallError::Disconnected)));
    assert_eq!(reading.poll(stream, &poll_none()), ended);
    assert_eq!(reading.len(), 0);
}
