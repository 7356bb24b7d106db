//! A panic ends the process. Whatever panics, a task of a shard, an event loop or an I/O thread,
//! the rest would go on as half a node: it would hold connections, locks and a place in quorums,
//! and do none of its work. The log is what a node starts again from, so ending is safe.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::panic::{PanicHookInfo, set_hook};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The exit code after a panic: what `sysexits.h` calls an internal software error.
pub const EXIT_CODE: i32 = 70;

/// How long the orderly end may take. It runs what was registered for the end of the process, by
/// libraries too, with threads still at work.
const END_WAIT: Duration = Duration::from_secs(5);

/// From here on a panic on any thread, caught or not, ends the process with [`EXIT_CODE`] and one
/// line on standard error (and a backtrace, if `RUST_BACKTRACE` asks for one).
pub fn end_the_process() {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    set_hook(Box::new(|panic| {
        if IS_ENDING.swap(true, Ordering::SeqCst) {
            // Another thread is at it, or this one panicked while it was.
            std::thread::sleep(END_WAIT);
            std::process::abort();
        }
        let thread = std::thread::current();
        let mut text = line(panic, thread.name().unwrap_or("unnamed"));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.push_str(&format!("\n{backtrace}"));
        }
        // Who closed it does not want to know.
        let _ = writeln!(std::io::stderr(), "{text}");
        // Should no thread be had, the end is only less certain.
        let watch = std::thread::Builder::new().spawn(|| {
            std::thread::sleep(END_WAIT);
            std::process::abort();
        });
        drop(watch);
        std::process::exit(EXIT_CODE);
    }));
}

fn line(panic: &PanicHookInfo<'_>, thread: &str) -> String {
    let place = panic
        .location()
        .map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
    let payload = panic.payload();
    let what = match payload.downcast_ref::<String>() {
        Some(text) => text.as_str(),
        None => payload.downcast_ref::<&str>().unwrap_or(&"no reason given"),
    };
    let what = what.lines().collect::<Vec<_>>().join(" ");
    format!(
        "dunlin: a bug in dunlin, in thread {thread}{place}: {what}; the process ends, what was \
         acknowledged is in the log: start it again, and please report this line"
    )
}
