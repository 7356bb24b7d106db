//! Calls per second of 1 KB each way, at several depths, over TCP on loopback and over a queue,
//! caller and service on a thread each: `cargo run --release -p dunlin-rpc --example pingpong`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
use bytes::Bytes;
use dunlin_rpc::{
    Caller, ConnectOptions, Limits, QueueOptions, Reply, Service, TcpTransport, Transport, connect,
    queue, serve_inbox, serve_stream,
};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BODY_BYTES: usize = 1024;
const WARM_UP: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_secs(2);

type Echo = Rc<dyn Service<Bytes, Bytes>>;

fn shard<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

fn echo() -> Echo {
    Rc::new(|request: Bytes, reply: Reply<Bytes>| reply.send(request))
}

/// Keeps `depth` calls outstanding, one task each, and counts those answered.
async fn calls_per_s(caller: &Caller<Bytes, Bytes>, depth: usize) -> f64 {
    let began = Instant::now();
    let tasks: Vec<_> = (0..depth)
        .map(|_| {
            let caller = caller.clone();
            let body = Bytes::from(vec![7; BODY_BYTES]);
            tokio::task::spawn_local(async move {
                let mut calls = 0u64;
                while began.elapsed() < WARM_UP + MEASURED {
                    caller
                        .call(body.clone(), Duration::from_secs(5))
                        .await
                        .unwrap();
                    if began.elapsed() >= WARM_UP {
                        calls += 1;
                    }
                }
                calls
            })
        })
        .collect();
    let mut calls = 0;
    for task in tasks {
        calls += task.await.unwrap();
    }
    calls as f64 / MEASURED.as_secs_f64()
}

async fn report(name: &str, caller: &Caller<Bytes, Bytes>) {
    for depth in [1, 32, 256] {
        let rate = calls_per_s(caller, depth).await;
        println!("{name:>5}  depth {depth:>3}  {rate:>9.0} calls/s");
    }
}

fn main() {
    let (address, served_at) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        shard(async move {
            let mut listener = TcpTransport.listen("127.0.0.1:0").await.unwrap();
            address.send(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            serve_stream(stream, echo(), |_| true, Limits::default()).await
        })
    });
    let addr = served_at.recv().unwrap();
    shard(async {
        let transport = Arc::new(TcpTransport);
        let caller = connect(transport, addr, Bytes::new(), ConnectOptions::default());
        caller.connected().await;
        report("tcp", &caller).await;
    });

    let (address, inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
    std::thread::spawn(move || shard(serve_inbox(inbox, echo())));
    shard(async {
        report("queue", &address.caller()).await;
    });
}
