//! Every byte of a RocksDB-style log is flipped, and the file cut at every offset, through the
//! reader that `dunlin log check` uses. What must be found follows from where the records are, read
//! without the code under test.

use super::torture::layout::{self, Physical, Place};
use dunlin_log::{
    Padding,
    block::{Encoder, Form},
    inspect::{Event, InspectError, Inspector, Rest, Settings, Stat, Verdict},
};
use rand::{RngCore, SeedableRng, rngs::StdRng};

const NUMBER: u32 = 7;

/// A log and where its records are.
struct Wal {
    form: Form,
    block_size: usize,
    bytes: Vec<u8>,
    pieces: Vec<Physical>,
    /// Each record, and which pieces it is in.
    records: Vec<(Vec<u8>, std::ops::Range<usize>)>,
}

/// What a reader must say.
#[derive(Debug, PartialEq)]
struct Told {
    records: Vec<usize>,
    verdict: Verdict,
}

impl Wal {
    /// Records of every kind: empty, small, ending at every distance from a block's end, and over
    /// two blocks.
    fn new(form: Form, block_size: usize, lengths: &[usize]) -> Wal {
        let mut random = StdRng::seed_from_u64(1);
        let mut encoder = Encoder::new(block_size as u32, Padding::Fragment, form, 0);
        let mut bytes = Vec::new();
        let mut payloads = Vec::new();
        for length in lengths {
            let mut payload = vec![0; *length];
            random.fill_bytes(&mut payload);
            encoder.record(&payload, &mut bytes);
            payloads.push(payload);
        }
        let number = match form {
            Form::Legacy => None,
            Form::Recyclable(number) => Some(number),
        };
        let pieces = layout::physical(&bytes, block_size, number);
        assert_eq!(pieces.last().unwrap().bytes.end, bytes.len());
        let mut begin = 0;
        let mut ends = pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| matches!(piece.place(), Place::Whole | Place::Last))
            .map(|(at, _)| at + 1);
        let records: Vec<_> = payloads
            .into_iter()
            .map(|payload| {
                let within = begin..ends.next().unwrap();
                begin = within.end;
                let joined: Vec<u8> = pieces[within.clone()]
                    .iter()
                    .flat_map(|piece| bytes[piece.payload.clone()].to_vec())
                    .collect();
                assert_eq!(joined, payload);
                (payload, within)
            })
            .collect();
        assert!(records.iter().any(|(_, within)| within.len() > 1));
        Wal {
            form,
            block_size,
            bytes,
            pieces,
            records,
        }
    }

    /// Reads a file: records, by their number in this log, and the sums.
    fn read(&self, file: &[u8]) -> Result<(Told, Stat, Rest), InspectError> {
        let settings = Settings {
            block_size_bytes: self.block_size as u32,
            number: Some(NUMBER),
            ..Settings::default()
        };
        let mut inspector = Inspector::new(file, &settings)?;
        let mut stat = Stat::default();
        let mut records = Vec::new();
        loop {
            let event = inspector.next_event().unwrap();
            stat.add(&event, &inspector);
            match event {
                Event::Record(record) => {
                    let begins = |(_, within): &(_, std::ops::Range<usize>)| {
                        self.pieces[within.start].bytes.start as u64 == record.offset
                    };
                    let at = self
                        .records
                        .iter()
                        .position(begins)
                        .expect("no record was here");
                    assert_eq!(inspector.payload(), self.records[at].0);
                    records.push(at);
                }
                Event::End(end) => {
                    let verdict = stat.verdict();
                    return Ok((Told { records, verdict }, stat, end.rest));
                }
                _ => {}
            }
        }
    }

    /// Records that are whole without these pieces.
    fn without(&self, lost: &std::ops::Range<usize>) -> Vec<usize> {
        let is_lost = |piece: usize| lost.contains(&piece);
        (0..self.records.len())
            .filter(|at| !self.records[*at].1.clone().any(is_lost))
            .collect()
    }

    /// The file ends at an offset.
    fn cut(&self, length: usize) -> Told {
        let whole = self
            .pieces
            .iter()
            .take_while(|piece| piece.bytes.end <= length)
            .count();
        let end = match whole {
            0 => 0,
            pieces => self.pieces[pieces - 1].bytes.end,
        };
        // Between pieces are only the zeros at a block's end. A checksum may begin with one, too.
        let nothing = self.bytes[end..length].iter().all(|&byte| byte == 0);
        let begun =
            whole > 0 && matches!(self.pieces[whole - 1].place(), Place::First | Place::Middle);
        Told {
            records: self.without(&(whole..self.pieces.len())),
            verdict: if nothing && !begun {
                Verdict::Whole
            } else {
                Verdict::Torn
            },
        }
    }

    /// How many bytes are left behind the last record of a block.
    fn tail(&self, offset: usize) -> usize {
        let end = offset.next_multiple_of(self.block_size);
        let ends = self.pieces.iter().map(|piece| piece.bytes.end);
        end - ends.take_while(|at| *at <= offset).last().unwrap_or(0)
    }

    /// Whether a byte is of the log number of the last piece: with another one that is what a
    /// recycled file held before. Nothing is wrong, unless a record had begun.
    fn is_stale(&self, offset: usize) -> bool {
        let last = self.pieces.last().unwrap().bytes.start;
        matches!(self.form, Form::Recyclable(_)) && (last + 7..last + 11).contains(&offset)
    }

    /// Where the thing begins that an offset is in: a piece, or the zeros at a block's end. Where
    /// nothing is wrong with the piece, the record that it ends.
    fn start(&self, offset: usize) -> usize {
        if self.is_stale(offset) {
            let (_, within) = self.records.last().unwrap();
            return self.pieces[within.start].bytes.start;
        }
        let mut pieces = self.pieces.iter().rev();
        let before = pieces.find(|piece| piece.bytes.start <= offset).unwrap();
        if before.bytes.contains(&offset) {
            before.bytes.start
        } else {
            before.bytes.end
        }
    }

    /// One bit of a byte is another: the rest of its block is not to be trusted.
    fn flipped(&self, offset: usize) -> Told {
        let hit = self
            .pieces
            .iter()
            .position(|piece| piece.bytes.contains(&offset));
        let Some(hit) = hit else {
            // The zeros at a block's end are not looked at, unless a legacy header has room there.
            return Told {
                records: self.without(&(0..0)),
                verdict: if self.tail(offset) < 7 {
                    Verdict::Whole
                } else {
                    Verdict::Damaged
                },
            };
        };
        let block = self.pieces[hit].bytes.start / self.block_size;
        let behind = self
            .pieces
            .iter()
            .take_while(|piece| piece.bytes.start / self.block_size <= block)
            .count();
        let last = hit + 1 == self.pieces.len();
        let stale = self.is_stale(offset) && self.pieces[hit].place() == Place::Whole;
        Told {
            records: self.without(&(hit..behind)),
            verdict: match (stale, last) {
                (true, _) => Verdict::Whole,
                (_, true) => Verdict::Torn,
                (_, false) => Verdict::Damaged,
            },
        }
    }

    fn torture(&self) {
        let (told, _, rest) = self.read(&self.bytes).unwrap();
        let all = self.without(&(0..0));
        assert_eq!(
            (told.records, told.verdict, rest),
            (all, Verdict::Whole, Rest::Nothing)
        );
        for offset in 0..self.bytes.len() {
            let mut flipped = self.bytes.clone();
            flipped[offset] ^= 1 << (offset % 8);
            let (told, stat, _) = self.read(&flipped).unwrap();
            let wanted = self.flipped(offset);
            assert_eq!(told, wanted, "{:?}: flip at {offset}", self.form);
            if wanted.verdict != Verdict::Whole {
                let start = self.start(offset) as u64;
                let offsets: Vec<u64> = stat.damages.iter().map(|damage| damage.offset).collect();
                let case = format!("{:?}: flip at {offset}", self.form);
                assert!(offsets.contains(&start), "{case}: {start}, not {offsets:?}");
            }

            let cut = self.read(&self.bytes[..offset]);
            let case = format!("{:?}: cut at {offset}", self.form);
            match (offset, cut) {
                (0, Err(InspectError::Empty)) | (1..7, Err(InspectError::NotALog)) => {}
                (7.., Ok((told, _, _))) => assert_eq!(told, self.cut(offset), "{case}"),
                (_, cut) => panic!("{case}: {:?}", cut.map(|(told, ..)| told)),
            }
        }
    }
}

/// As RocksDB writes it.
#[test]
fn legacy_headers_and_blocks_of_32_kib() {
    let lengths = [200, 31_000, 0, 9_000, 31];
    Wal::new(Form::Legacy, 32 << 10, &lengths).torture();
}

#[test]
fn recyclable_headers_and_blocks_of_32_kib() {
    let lengths = [200, 31_000, 0, 9_000, 31];
    Wal::new(Form::Recyclable(NUMBER), 32 << 10, &lengths).torture();
}

/// Little blocks, so that records end at every distance from a block's end.
#[test]
fn every_size_of_a_tail() {
    for form in [Form::Legacy, Form::Recyclable(NUMBER)] {
        let header = match form {
            Form::Legacy => 7,
            Form::Recyclable(_) => 11,
        };
        for tail in 0..=header {
            let lengths = [100, 4096 - 2 * header - 100 - tail, 0, 9000, 10];
            Wal::new(form, 4096, &lengths).torture();
        }
        // A last piece that is part of a record.
        Wal::new(form, 4096, &[50, 9000]).torture();
    }
}
