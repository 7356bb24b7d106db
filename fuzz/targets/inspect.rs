//! Any bytes as a log file of ours or of RocksDB's: every byte is in exactly one event, the sums
//! add up, and how the bytes arrive changes nothing.
#![no_main]

use dunlin_fuzz::{
    input::Input,
    memory::{PLAIN_BYTES, limited},
    physical::{Owner, seal},
    segment,
};
use dunlin_log::inspect::{Damage, Event, Inspector, Settings, Stat, Verdict};
use libfuzzer_sys::fuzz_target;
use std::io::Read;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let sealed = input.u8() % 3;
    let settings = Settings {
        block_size_bytes: 4096 << input.pick(&[3, 0, 1, 4, 8]),
        number: Some(u32::from(input.u8())).filter(|number| *number > 0),
        record_bytes_max: input.pick(&[256 << 20, 16, 5000]),
    };
    let chunk = 1 + usize::from(input.u8());
    let mut file = input.rest().to_vec();
    match sealed {
        1 => {
            segment::seal(&mut file);
        }
        2 => {
            seal(
                &mut file,
                settings.block_size_bytes as usize,
                Owner::RocksDb,
            );
        }
        _ => {}
    }
    limited(PLAIN_BYTES, || {
        let (events, stat) = walk(&file[..], &settings, file.len() as u64);
        let slow = Slow { rest: &file, chunk };
        assert_eq!(walk(slow, &settings, file.len() as u64), (events, stat));
    });
});

/// A source that gives a few bytes at once.
struct Slow<'a> {
    rest: &'a [u8],
    chunk: usize,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.chunk.min(buffer.len()).min(self.rest.len());
        let (given, rest) = self.rest.split_at(length);
        buffer[..length].copy_from_slice(given);
        self.rest = rest;
        Ok(length)
    }
}

fn walk(source: impl Read, settings: &Settings, length: u64) -> (Vec<Event>, Stat) {
    let mut stat = Stat::default();
    let mut events = Vec::new();
    let Ok(mut inspector) = Inspector::new(source, settings) else {
        return (events, stat);
    };
    // Where the bytes told of so far end.
    let mut at = 0;
    let mut payload_bytes = 0;
    loop {
        let event = inspector.next_event().expect("memory cannot fail");
        stat.add(&event, &inspector);
        let span = match &event {
            Event::Physical(it) => Some((
                it.offset,
                u64::from(it.header_bytes) + u64::from(it.payload_bytes),
            )),
            Event::Padding(it) => Some((it.offset, it.bytes)),
            Event::Damage(Damage {
                skipped_bytes: 0, ..
            }) => None,
            Event::Damage(it) => Some((it.offset, it.skipped_bytes)),
            Event::End(it) => Some((it.offset, it.unused_bytes)),
            Event::Record(record) => {
                assert!(record.offset < record.end && record.end <= at);
                payload_bytes += record.payload_bytes;
                let kept = inspector.payload().len() as u64;
                let limit = settings.record_bytes_max as u64;
                // Of a record in one piece all is there anyway.
                assert!(kept == record.payload_bytes || (record.cut && kept == limit));
                None
            }
            Event::Own(_) => None,
        };
        if let Some((offset, bytes)) = span {
            assert_eq!(offset, at, "{event:?}");
            at += bytes;
        }
        events.push(event);
        if let Some(Event::End(end)) = events.last() {
            assert_eq!(at, length);
            assert_eq!(stat.used_bytes, end.offset);
            break;
        }
    }
    let again = inspector.next_event().expect("memory cannot fail");
    assert_eq!(Some(&again), events.last());
    assert_eq!(stat.payload_bytes, payload_bytes);
    let parts = [
        stat.payload_bytes,
        stat.header_bytes,
        stat.tail_bytes,
        stat.padded_bytes,
        stat.own_bytes,
        stat.stray_bytes,
        stat.skipped_bytes,
    ];
    assert_eq!(stat.used_bytes, parts.iter().sum::<u64>());
    assert_eq!(stat.verdict() == Verdict::Whole, stat.damage_count == 0);
    (events, stat)
}
