//! Makes the seed corpus anew: `seeds CORPUS [WAL...]`, the WALs being files that RocksDB wrote.
//! To be run when a format changes; what it makes is committed.

use bytes::{Bytes, BytesMut};
use dunlin_entry::{Entry, Kind, Origin, Rank, Replaces, Stamp, Vector, Version};
use dunlin_fuzz::{
    packed::pack,
    reopen::{open, options, path, simulate},
};
use dunlin_log::{Compression, Log, Options, Padding, sim::SimDisk};
use dunlin_message::Message;
use dunlin_proto::{
    Asker, Batch, BatchAnswer, ClockAnswer, Condition, Conflict, DirectCommit, DirectId, DirectKey,
    DirectLeader, DirectReply, DirectRequest, DirectResponse, DirectSpan, Fate, Froms, Hint,
    Introduction, Item, Life, Page, PageCost, Place, Request, Response, ShardAddress, TailAnswer,
    TailPin, TailRequest, Token, VectorsRequest, Word, WriteRequest, pairs::Pairs,
};
use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let corpus = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let corpus = Path::new(&corpus);
    let logs = logs();
    for (name, first, files) in &logs {
        keep(corpus, "recover", name, &pack(true, *first, files))?;
        for file in files {
            // Checksums as they are; block size as the header has it; the number from the file.
            keep(corpus, "inspect", name, &inspected(0, 0, file))?;
        }
        if *first == 1 {
            let used = &files[0][..files[0].len().min(4096)];
            keep(corpus, "block", name, &[&[1], used].concat())?;
        }
    }
    for file in arguments {
        let bytes = fs::read(&file)?;
        // A log is named by its number.
        let name = Path::new(&file)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let number = name.parse().unwrap_or(0);
        let name = format!("rocksdb-{name}");
        keep(corpus, "inspect", &name, &inspected(2, number, &bytes))?;
    }
    keep(
        corpus,
        "block",
        "records",
        b"\x02\x00\x01\x01\x05\xfd\x10\xfe\x00\xfd\x20\x00\xfb\x00\x20",
    )?;
    keep(
        corpus,
        "block",
        "little-blocks",
        b"\x02\x20\x00\x00\x05\x10\xfd\x10\xfe\x00\x00\xfa",
    )?;
    keep(
        corpus,
        "batch",
        "lz4",
        b"\x00\x00\xff\x0f\x05\x10\x00\x20\x00\x00\x00\x05\x01\x09\x00",
    )?;
    keep(
        corpus,
        "batch",
        "zstd-split",
        b"\x01\x00\x10\x00\x05\x10\x00\x20\x00\x00\x00\x05\x01\x09\x00",
    )?;
    keep(corpus, "batch", "large", b"\x01\x08\xff\x0f\x00\x40")?;
    keep(
        corpus,
        "batch",
        "lie",
        b"\x00\x06\xff\x0f\x01\x10\x00\x02\x00\x00\x00\xff\xff\xff\x03",
    )?;
    for (name, head) in [
        ("fragment", [0, 0, 0, 0, 1, 40]),
        ("pad-lz4", [0, 1, 1, 0, 0, 40]),
        ("zstd-direct", [1, 0, 2, 1, 1, 40]),
    ] {
        let mut input = head.to_vec();
        for number in 0..40_u8 {
            input.extend([(number << 6) | (number % 4), 200 - number, number / 3]);
        }
        input.extend([0, 0, 0x10, 0x01, 3, 0, 2, 0, 0, 0x20, 0, 2]);
        keep(corpus, "mutate", name, &input)?;
    }
    keep(corpus, "frame", "calls", &calls())?;
    let request = [&b"\x40DNSC\x01\0\x01\0"[..], &[5; 32], &[6; 32]].concat();
    keep(corpus, "preamble", "request", &request)?;
    let answers = [
        &b"\x40DNSC\x01\0\0\0"[..],
        &[9; 32],
        b"DNSC\x01\0\0\0",
        &[6; 32],
    ]
    .concat();
    keep(corpus, "preamble", "answers", &answers)?;
    for (name, kind, body) in messages() {
        keep(corpus, "message", name, &[&[kind], &body[..]].concat())?;
    }
    for (name, kind, body) in directs() {
        keep(corpus, "message", name, &[&[kind], &body[..]].concat())?;
    }
    for (name, token) in tokens() {
        keep(corpus, "token", name, token.to_string().as_bytes())?;
    }
    Ok(())
}

fn tokens() -> [(&'static str, Token); 3] {
    let seen = |node| {
        (
            Origin::new(node, 0, 3),
            Version::new(1_700_000_000_000, node),
        )
    };
    let far: Vector = [seen(1), seen(2)].into_iter().collect();
    let near: Vector = [seen(1)].into_iter().collect();
    let hint = Hint {
        shard: ShardAddress { node: 2, shard: 1 },
        incarnation: 7,
        index: 99,
    };
    let groups = [
        (0, far.clone()),
        (1, far.clone()),
        (2, near),
        (5, far.clone()),
    ];
    let mut hints = Token::new(0xfeed, 4, Some(hint), groups.clone());
    hints.advance(&Token::new(0xfeed, 4, Some(hint), [(1, far.clone())]));
    [
        ("groups", Token::new(0xfeed, 4, Some(hint), groups)),
        ("hints", hints),
        ("one", Token::new(0xfeed, 4, None, [(0, far)])),
    ]
}

fn keep(corpus: &Path, target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(corpus.join(target))?;
    fs::write(corpus.join(target).join(name), bytes)
}

/// An input of the target `inspect`: blocks of 32 KiB, the whole file at once, zeros at its end cut.
fn inspected(sealed: u8, number: u8, file: &[u8]) -> Vec<u8> {
    let used = file
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |at| at + 1);
    let end = file.len().min(used + 64);
    [&[sealed, 0, number, 0, 255], &file[..end]].concat()
}

/// Little logs: name, number of the first segment, files.
fn logs() -> Vec<(String, u64, Vec<Vec<u8>>)> {
    let mut logs = Vec::new();
    for (padding, compression, direct_io) in [
        (Padding::Fragment, Compression::None, false),
        (Padding::Pad, Compression::None, false),
        (Padding::Fragment, Compression::Lz4, false),
        (Padding::Pad, Compression::Zstd, true),
    ] {
        let options = Options {
            padding,
            compression,
            direct_io,
            segment_bytes: 8 << 10,
            spare_segments: 1,
            ..options()
        };
        let name = format!("{padding}-{compression}");
        logs.push((name.clone(), 1, log(&options, 14, false)));
        logs.push((format!("{name}-recycled"), 3, log(&options, 40, true)));
    }
    logs
}

/// The files of a log of so many groups; with `recycled` only those that were recycled.
fn log(options: &Options, groups: u64, recycled: bool) -> Vec<Vec<u8>> {
    simulate(async {
        let disk = SimDisk::new(1);
        let (log, _) = open(&disk, options).await.expect("not opened");
        let driven = log.clone();
        tokio::task::spawn_local(async move { driven.drive().await });
        for group in 0..groups {
            if log.should_rotate() || (recycled && group == groups - 2) {
                log.rotate(Bytes::from_static(b"preamble"))
                    .expect("no new segment");
                if recycled && log.segments().len() > 2 {
                    log.release(log.last());
                }
            }
            for number in 0..4 {
                append(&log, group * 4 + number, group % 2 == 0);
            }
            log.wait_written(log.last()).await.expect("not written");
        }
        log.close().await.expect("not closed");
        let files = log.segments();
        files
            .iter()
            .skip(files.len().saturating_sub(2))
            .map(|segment| disk.contents(&path(segment.number)).expect("no file"))
            .collect()
    })
}

fn append(log: &Log, number: u64, sync: bool) {
    let words = format!("a dunlin flock turns as one bird {number} ");
    let record = Bytes::from(words.repeat(1 + (number % 5) as usize));
    log.append(record, sync).expect("refused");
}

/// A hello, a ping, requests with their time, a cancel, a stream with credit, and its stop.
fn calls() -> Vec<u8> {
    let mut out = vec![1, 100];
    out.extend(b"DNLN\x07\0\x05\0hello\0\0\0\0");
    let calls = [
        (0_u64, 3_u8, &b""[..]),
        (1, 0, b"\xe8\x03\0\0a"),
        (2, 0, b"\xe8\x03\0\0request"),
        (3, 0, b"\0\0\0\0too late"),
        (2, 6, b""),
        (1, 7, b"\0\x10\0\0stream"),
        (1, 9, b"\0\x10\0\0"),
        (1, 11, b""),
    ];
    for (call, kind, body) in &calls {
        out.extend((9 + body.len() as u32).to_le_bytes());
        out.extend([0; 4]);
        out.push(*kind);
        out.extend(call.to_le_bytes());
        out.extend(*body);
    }
    out
}

/// Inputs of the target `message`: name, what they are read as, bytes.
fn messages() -> Vec<(&'static str, u8, Bytes)> {
    let stamp = Stamp::new(Version::new(1_700_000_000_000, 1), Origin::new(1, 0, 3));
    let replaces = Some(Replaces {
        stamp: Stamp::new(Version::MAX, Origin::new(2, 0, 1)),
        is_mend: true,
    });
    let (key, value) = (Bytes::from_static(b"key"), Bytes::from_static(b"value"));
    let vector: Vector = [(stamp.origin, stamp.version)].into_iter().collect();
    let place = Place {
        keyspace: 1,
        partition: 2,
    };
    let address = ShardAddress { node: 1, shard: 0 };
    let entry = Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition: 2,
        keyspace: 1,
        stamp,
        logged: None,
        expiry_ms: Some(5),
        is_expiry: false,
        replaces,
        key: key.clone(),
        value: value.clone(),
    };
    let write = Request::Write(WriteRequest {
        keyspace: 1,
        kind: Kind::Put,
        ack: 2,
        from: 3,
        condition: Condition::Is(stamp),
        expiry_ms: Some(5),
        key: key.clone(),
        value: value.clone(),
        deadline: Version::MAX,
        floor: stamp.version,
        replaces,
        given: None,
    });
    let replicate = Request::Replicate(Batch {
        origin: stamp.origin,
        after: Version(1),
        up_to: stamp.version,
        entries: vec![entry.encode()],
        held: vec![(address, Version(1))],
    });
    let vectors = Request::Vectors(VectorsRequest {
        vector: vector.clone(),
        asker: Asker {
            address,
            incarnation: 3,
            opened_at: 4,
            vouched: 5,
            is_settled: true,
        },
    });
    let tail = Request::Tail(TailRequest {
        incarnation: 3,
        index: 4,
        wants: vec![(place, Froms::and_above(2))],
        pin: TailPin {
            asker: address,
            keep: 4,
        },
    });
    let have = Response::Replicated(BatchAnswer::Have {
        conflicts: vec![Conflict {
            version: Version(2),
            newer: Rank::new(stamp, replaces),
        }],
        uncounted: vec![Version(3)],
        unsure: Version(4),
        wants_held: true,
    });
    let page = Response::Page(Page {
        items: vec![Item {
            key: key.clone(),
            stamp,
            from: 3,
            tombstone: false,
            expiry_ms: Some(5),
            is_expiry: false,
            replaces,
            logged: None,
            value,
        }],
        next: Some(key),
        life: Some(Life {
            incarnation: 3,
            is_whole: true,
        }),
        cost: Some(PageCost {
            latency_us_p99: 6,
            read_bytes: 7,
        }),
    });
    let entries = Response::Tail(TailAnswer::Entries {
        entries: vec![entry.encode()],
        incarnation: 3,
        next: 4,
        end: Some(vector),
        synced: 5,
    });
    let fate = Fate {
        undrops: 1,
        is_dropped: true,
    };
    let clock = Response::Clock(ClockAnswer {
        now_ms: 5,
        drops: Some(Word {
            order: (1, 2),
            fates: [(3, fate)].into(),
        }),
    });
    let mut pairs = Pairs::default();
    for (key, value) in [(&b"key"[..], &b"value"[..]), (b"other", b"")] {
        assert!(pairs.push(key, value).is_ok());
    }
    vec![
        ("write", 0, encoded(&write)),
        ("replicate", 0, encoded(&replicate)),
        ("vectors", 0, encoded(&vectors)),
        ("tail", 0, encoded(&tail)),
        ("have", 1, encoded(&have)),
        ("page", 1, encoded(&page)),
        ("entries", 1, encoded(&entries)),
        ("clock", 1, encoded(&clock)),
        ("introduction", 2, introduction().encode("n1")),
        ("entry", 3, entry.encode()),
        ("pairs", 4, pairs.seal().body().clone()),
    ]
}

fn introduction() -> Introduction {
    Introduction {
        shard: 0,
        asker: 1,
        incarnation: 3,
        wanted: 2,
        cluster: "flock".to_owned(),
    }
}

/// Requests and answers of direct clients.
fn directs() -> Vec<(&'static str, u8, Bytes)> {
    let keyspace = "bank".to_owned();
    let key = DirectKey {
        keyspace: keyspace.clone(),
        key: Bytes::from_static(b"ann"),
    };
    let span = DirectSpan {
        keyspace,
        start: Bytes::from_static(b"a"),
        end: Some(Bytes::from_static(b"m")),
    };
    let (at, value) = (Version(7), Bytes::from_static(b"value"));
    let id = DirectId { ms: 5, number: 6 };
    let requests = [
        (
            "direct-read",
            DirectRequest::Read {
                at: Some(at),
                lock: true,
                keys: vec![key.clone(), key.clone()],
            },
        ),
        (
            "direct-page",
            DirectRequest::Page {
                at: None,
                span: span.clone(),
                limit: 100,
            },
        ),
        (
            "direct-commit",
            DirectRequest::Commit(DirectCommit {
                at: Some(at),
                reads: vec![(key.clone(), Some(at)), (key.clone(), None)],
                scans: vec![span.clone()],
                writes: vec![(key.clone(), Some(value.clone())), (key.clone(), None)],
                id,
            }),
        ),
        (
            "direct-outcome",
            DirectRequest::Outcome {
                id,
                first: key.clone(),
            },
        ),
        ("direct-unlock", DirectRequest::Unlock(at)),
    ];
    let leader = DirectLeader {
        span,
        at: ShardAddress { node: 1, shard: 2 },
        shards: 4,
        http: "127.0.0.1:8080".to_owned(),
    };
    let responses = [
        (
            "direct-values",
            DirectResponse::Values(at, vec![Some((at, value.clone())), None]),
        ),
        (
            "direct-rows",
            DirectResponse::Page(at, vec![(key.key.clone(), at, value)], Some(key.key)),
        ),
        (
            "direct-refused",
            DirectResponse::Refused(409, "others".to_owned()),
        ),
    ];
    let requests = requests
        .iter()
        .map(|(name, request)| (*name, 5, encoded(request)));
    let replies = responses.into_iter().map(|(name, response)| {
        let leader = Some(leader.clone());
        (name, 6, encoded(&DirectReply { response, leader }))
    });
    requests.chain(replies).collect()
}

fn encoded(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out);
    out.freeze()
}
