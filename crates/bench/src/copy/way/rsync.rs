//! A daemon of rsync, as it is used between machines.

use std::fs;
use std::process::Command;

use crate::cluster::ports;
use crate::copy::run::{Run, Transfer};
use crate::copy::source::Source;
use crate::copy::{Session, files};
use crate::error::BenchError;

use super::receiver;

/// Copies once: whole files, nothing compressed.
///
/// # Errors
/// When it is not installed or fails, or the user stops the run.
pub fn run(session: &Session, source: &Source) -> Result<Run, BenchError> {
    let port = ports::consecutive(1)?;
    let target = session.target();
    fs::create_dir_all(&target).map_err(files::at(&target))?;
    let config = session.scratch.path().join("rsyncd.conf");
    // Started by root it would write as nobody.
    let owner = if rustix::process::geteuid().is_root() {
        "uid = 0\ngid = 0\n"
    } else {
        ""
    };
    let text = format!(
        "address = 127.0.0.1\nport = {port}\nuse chroot = no\n{owner}\
         [target]\npath = {}\nread only = no\n",
        target.display()
    );
    fs::write(&config, text).map_err(files::at(&config))?;
    let mut daemon = Command::new("rsync");
    daemon
        .args(["--daemon", "--no-detach", "--config"])
        .arg(&config);
    let mut sender = Command::new("rsync");
    let mut from = source.path.clone().into_os_string();
    from.push("/");
    sender
        .args(["--recursive", "--times", "--whole-file", "--no-compress"])
        .arg(from)
        .arg(format!("rsync://{}/target/", receiver::address(port)));
    let transfer = Transfer {
        sender,
        receiver: Some(receiver::start(session, "rsync --daemon", daemon, port)?),
        bytes: source.holds.bytes,
    };
    Ok(transfer.carry_out(session)?.0)
}
