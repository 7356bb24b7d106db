//! Ctrl-C: the copy ends in order and says how to go on; a second one does not wait for that.

use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::runtime;
use crate::signal::Stop;

/// The exit code of a process that a second Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Signals within this time are one wish.
const ONE_WISH: Duration = Duration::from_millis(300);

/// Hears when the user asks to stop. Where signals cannot be heard they end the process as ever,
/// which a copy survives just as well.
pub fn listen() -> Receiver<()> {
    let (tell, asked) = channel();
    let wait = move || {
        runtime::block_on(async move {
            let mut stop = Stop::listen()?;
            stop.asked().await;
            // Nobody listens any more when the copy is over.
            let _ = tell.send(());
            // Some send the same wish twice, to a process and to its group.
            tokio::time::sleep(ONE_WISH).await;
            Stop::listen()?.asked().await;
            eprintln!();
            std::process::exit(INTERRUPTED)
        })
    };
    // It ends with the process.
    drop(Builder::new().name("signals".to_owned()).spawn(wait));
    asked
}
