//! A proxy that damages or cuts some of the connections that go through it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens to one connection, in the direction of the receiver.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// Nothing.
    Pass,
    /// A bit of the byte at this position changes.
    Flip(usize),
    /// It breaks at this position.
    Cut(usize),
}

/// A proxy; `flips` counts the bytes it has changed.
pub struct Proxy {
    pub address: String,
    pub flips: Arc<AtomicUsize>,
    pub cuts: Arc<AtomicUsize>,
}

impl Proxy {
    /// Forwards to `upstream`; `fate` is asked about each connection, by its number.
    pub fn start(upstream: String, fate: impl Fn(usize) -> Fate + Send + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            address: listener.local_addr().unwrap().to_string(),
            flips: Arc::default(),
            cuts: Arc::default(),
        };
        let (flips, cuts) = (Arc::clone(&proxy.flips), Arc::clone(&proxy.cuts));
        std::thread::spawn(move || {
            for (number, near) in listener.incoming().enumerate() {
                let Ok(near) = near else { return };
                let Ok(far) = TcpStream::connect(&upstream) else {
                    continue;
                };
                let fate = fate(number);
                let (near_back, far_back) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let (flips, cuts) = (Arc::clone(&flips), Arc::clone(&cuts));
                std::thread::spawn(move || forward(near, far, fate, &flips, &cuts));
                std::thread::spawn(move || {
                    forward(
                        far_back,
                        near_back,
                        Fate::Pass,
                        &AtomicUsize::new(0),
                        &AtomicUsize::new(0),
                    );
                });
            }
        });
        proxy
    }
}

fn forward(
    mut from: TcpStream,
    mut to: TcpStream,
    fate: Fate,
    flips: &AtomicUsize,
    cuts: &AtomicUsize,
) {
    let mut buffer = vec![0; 64 << 10];
    let mut passed = 0;
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let bytes = &mut buffer[..read];
        match fate {
            Fate::Flip(at) if (passed..passed + read).contains(&at) => {
                bytes[at - passed] ^= 1 << (at % 8);
                flips.fetch_add(1, Ordering::Relaxed);
            }
            Fate::Cut(at) if at < passed + read => {
                cuts.fetch_add(1, Ordering::Relaxed);
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Both);
                return;
            }
            _ => {}
        }
        passed += read;
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
