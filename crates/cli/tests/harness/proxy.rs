//! A proxy of a server that can be closed: its connections break off.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Accepts connections for another port of this machine.
pub struct Proxy {
    port: u16,
    open: Arc<Mutex<Passing>>,
}

#[derive(Default)]
struct Passing {
    is_closed: bool,
    streams: Vec<TcpStream>,
}

impl Proxy {
    /// One to the server at this port.
    pub fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            open: Arc::default(),
        };
        let open = proxy.open.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let mut passing = open.lock().unwrap();
                if passing.is_closed {
                    continue;
                }
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || {
                        drop(copy(&mut from, &mut to));
                        drop(to.shutdown(Shutdown::Both));
                    });
                }
                passing.streams.extend([client, server]);
            }
        });
        proxy
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lets connections pass.
    pub fn open(&self) {
        self.open.lock().unwrap().is_closed = false;
    }

    /// Breaks all off, and lets none pass.
    pub fn close(&self) {
        let mut passing = self.open.lock().unwrap();
        passing.is_closed = true;
        for stream in passing.streams.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}
