#![allow(clippy::unwrap_used)]
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use dunlin_secret::{Secrets, SystemNonces};
use proptest::prelude::*;

use super::*;

const OURS: &str = "the secret of our machines";
const THEIRS: &str = "the secret of other machines";

fn guard(secret: &str) -> Arc<Guard> {
    let secrets = Secrets::parse(secret.as_bytes()).unwrap();
    let nonces = Box::<SystemNonces>::default();
    Guard::new(Door::Copy, Mode::Required, secrets, nonces)
}

/// Both sides of an opening, hello included: what the sender and what the receiver find.
fn meet(sender: Arc<Guard>, receiver: &Guard) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sending = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        match prove(&mut stream, &sender) {
            Err(failed) => format!("{failed:?}"),
            Ok(()) => match hello::open(&mut stream, "peer") {
                Ok(()) => "in".to_owned(),
                Err(error) => error.to_string(),
            },
        }
    });
    let (mut stream, _) = listener.accept().unwrap();
    let received = match admit(&mut stream, receiver) {
        Err(failed) => format!("{failed:?}"),
        Ok(first) => match hello::accept(&mut stream, first, "peer") {
            Ok(()) => "in".to_owned(),
            Err(error) => error.to_string(),
        },
    };
    drop(stream);
    (sending.join().unwrap(), received)
}

#[test]
fn who_shares_the_secret_gets_in() {
    let off = || Guard::off(Door::Copy);
    let asked = format!("peer: {}", Refusal::Asked.line(Door::Copy));
    let cases = [
        (off(), off(), "in", "in"),
        (guard(OURS), guard(OURS), "in", "in"),
        (
            guard(THEIRS),
            guard(OURS),
            "Refused(Wrong)",
            "Refused(WrongHere)",
        ),
        (
            guard(OURS),
            off(),
            "Refused(NoSecret)",
            "Refused(NoSecretHere)",
        ),
        (off(), guard(OURS), &asked, "Refused(Unproven)"),
    ];
    for (sender, receiver, sent, received) in cases {
        let told = format!("{sender:?} {receiver:?}");
        let met = meet(sender, &receiver);
        assert_eq!(met, (sent.to_owned(), received.to_owned()), "{told}");
    }
}

proptest! {
    #[test]
    fn no_bytes_get_through(bytes in prop::collection::vec(any::<u8>(), 0..200), valid in 0..3_usize) {
        struct Stranger(Vec<u8>, usize);
        impl Read for Stranger {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                (&self.0[..]).read(into).inspect(|count| drop(self.0.drain(..*count)))
            }
        }
        impl Write for Stranger {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 += bytes.len();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let opening: &[u8] = [&b"DNSC\x01\0\x02\0"[..], b"DNCP\x01\0", b""][valid];
        let mut stranger = Stranger([opening, &bytes].concat(), 0);
        prop_assert!(admit(&mut stranger, &guard(OURS)).is_err());
        prop_assert!(stranger.1 <= 80);
    }
}
