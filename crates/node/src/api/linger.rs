//! The end of a connection: a socket that is closed while bytes wait in it takes answers under way
//! back (TCP resets it), so what still comes is read and thrown away, within bounds.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

/// A client that sends nothing for so long has heard, or never will.
const IDLE: Duration = Duration::from_secs(1);
/// No client is waited for longer.
const LONGEST: Duration = Duration::from_secs(20);
/// More than any body that is meant.
const BYTES_MOST: u64 = 256 << 20;
const BUFFER_BYTES: usize = 64 << 10;

/// Says that nothing more will be answered, and reads until the client has closed too.
pub(super) async fn linger(mut stream: TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let end = Instant::now() + LONGEST;
    let drained = async {
        let mut buffer = Vec::new();
        let mut bytes = 0;
        while bytes < BYTES_MOST {
            // Most clients have closed by now: for them there is no buffer.
            if timeout(IDLE, stream.readable()).await.is_err() {
                return;
            }
            buffer.resize(BUFFER_BYTES, 0);
            match timeout(IDLE, stream.read(&mut buffer)).await {
                Ok(Ok(read)) if read > 0 => bytes += read as u64,
                _ => return,
            }
        }
    };
    drop(timeout_at(end, drained).await);
}
