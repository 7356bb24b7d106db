#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::frame::{FRAME_BYTES_MAX, Kind};
use crate::transport::Plain;
use bytes::BufMut;
use proptest::prelude::*;
use std::future::poll_fn;
use tokio::io::{AsyncWriteExt, duplex};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn wire(stream: tokio::io::DuplexStream) -> Wire {
    Wire::new(Box::new(Plain(stream)), FRAME_BYTES_MAX)
}

#[test]
fn memory_follows_what_arrives_not_what_is_announced() {
    block_on(async {
        let (mut far, near) = duplex(1 << 20);
        let mut wire = wire(near);
        far.write_all(&(FRAME_BYTES_MAX as u32).to_le_bytes())
            .await
            .unwrap();
        let mut received = 0;
        for _ in 0..30 {
            received += poll_fn(|cx| wire.poll_read(cx)).await.unwrap();
            assert!(wire.next_frame().unwrap().is_none());
            assert!(wire.input.capacity() <= 2 * received + 2 * READ_BYTES);
            far.write_all(&[0; 10_000]).await.unwrap();
        }
    });
}

#[test]
fn large_and_small_frames_come_out_whole() {
    block_on(async {
        let (mut far, near) = duplex(100_000);
        let mut wire = wire(near);
        let sizes = [0, 1, 70_000, 3, 3_000_000, 64 << 10, 17];
        let writer = async {
            for (call, size) in sizes.into_iter().enumerate() {
                let mut out = BytesMut::new();
                let put = |out: &mut BytesMut| out.put_bytes(call as u8, size);
                frame::append(&mut out, Kind::Request, call as u64, FRAME_BYTES_MAX, put).unwrap();
                far.write_all(&out).await.unwrap();
            }
        };
        let reader = async {
            for (call, size) in sizes.into_iter().enumerate() {
                let frame = loop {
                    match wire.next_frame().unwrap() {
                        Some(frame) => break frame,
                        None => poll_fn(|cx| wire.poll_read(cx)).await.unwrap(),
                    };
                };
                assert_eq!((frame.call, frame.body.len()), (call as u64, size));
                assert!(frame.body.iter().all(|byte| *byte == call as u8));
            }
        };
        tokio::join!(writer, reader);
    });
}

#[test]
fn everything_queued_is_written_in_order_and_counted() {
    block_on(async {
        let (mut far, near) = duplex(50);
        let mut wire = wire(near);
        let outbox = Outbox::new(FRAME_BYTES_MAX);
        outbox.open();
        for call in 0..20u64 {
            outbox
                .push(Kind::Request, call, 30, usize::MAX, |out| {
                    out.put_bytes(1, 30)
                })
                .unwrap();
        }
        let total = outbox.queued_bytes();
        let mut written = 0;
        let writer = poll_fn(|cx| wire.poll_write(cx, &outbox, &mut written, &mut 0, || false));
        let mut bytes = vec![0; total];
        let (wrote, read) = tokio::join!(writer, far.read_exact(&mut bytes));
        wrote.unwrap();
        read.unwrap();
        assert_eq!((written, outbox.queued_bytes()), (total, 0));
        let mut bytes = BytesMut::from(&bytes[..]);
        for call in 0..20u64 {
            let frame = frame::take(&mut bytes, FRAME_BYTES_MAX).unwrap().unwrap();
            assert_eq!(frame.call, call);
        }
    });
}

proptest! {
    #[test]
    fn any_bytes_end_in_frames_errors_or_waiting(chunks in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 1..60), 1..10))
    {
        block_on(async {
            let (mut far, near) = duplex(1 << 16);
            let mut wire = wire(near);
            for chunk in chunks {
                far.write_all(&chunk).await.unwrap();
                if poll_fn(|cx| wire.poll_read(cx)).await.is_err() {
                    return;
                }
                while let Ok(Some(_)) = wire.next_frame() {}
                assert!(wire.input.capacity() <= 4 * READ_BYTES);
            }
        });
    }
}
