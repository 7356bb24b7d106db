//! What goes wrong on demand.

use super::SimDisk;
use rustix::io::Errno;
use std::{io, path::Path};

#[derive(Default)]
pub(crate) struct Faults {
    /// Syncs to let pass before one fails; none when none is to fail.
    sync_fails_after: Option<u64>,
    /// The same for writes.
    write_fails_after: Option<u64>,
    /// Changes to let pass before the power fails; none when it is not to fail.
    stops_after: Option<u64>,
    /// Whether the process has no file descriptors left.
    out_of_descriptors: bool,
    /// Bytes all files together may take.
    pub capacity: Option<u64>,
}

impl Faults {
    /// Any change: of bytes, lengths or names, durable or not.
    pub(crate) fn change(&mut self) -> io::Result<()> {
        match &mut self.stops_after {
            Some(0) => Err(io::Error::other("the simulated power has failed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn open(&self) -> io::Result<()> {
        if self.out_of_descriptors {
            Err(Errno::MFILE.into())
        } else {
            Ok(())
        }
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.change()?;
        due(&mut self.sync_fails_after, "simulated sync failure")
    }

    pub(crate) fn write(&mut self) -> io::Result<()> {
        self.change()?;
        due(&mut self.write_fails_after, "simulated write failure")
    }
}

fn due(after: &mut Option<u64>, message: &str) -> io::Result<()> {
    match after {
        Some(0) => {
            *after = None;
            Err(io::Error::other(message.to_owned()))
        }
        Some(left) => {
            *left -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}

impl Faults {
    /// Whether the power has failed.
    pub(crate) fn stopped(&self) -> bool {
        self.stops_after == Some(0)
    }

    /// The power is back.
    pub(crate) fn restart(&mut self) {
        self.stops_after = None;
    }
}

impl SimDisk {
    /// Lets `after` syncs (of files and directories) pass and fails the next one. As on real
    /// systems, what it should have made durable is then seen by readers, but lost in a crash
    /// unless it is written again.
    pub fn fail_sync(&self, after: u64) {
        self.lock().faults.sync_fails_after = Some(after);
    }

    /// Lets `after` writes pass and fails the next one.
    pub fn fail_write(&self, after: u64) {
        self.lock().faults.write_fails_after = Some(after);
    }

    /// Lets `after` changes (writes, syncs, lengths, names) pass and refuses all later ones until
    /// `crash`, so that a crash can come between any two of them.
    pub fn stop(&self, after: u64) {
        self.lock().faults.stops_after = Some(after);
    }

    /// Whether no file can be opened and no directory synced, as when a process has run out of
    /// descriptors.
    pub fn run_out_of_descriptors(&self, is_out: bool) {
        self.lock().faults.out_of_descriptors = is_out;
    }

    /// Limits the bytes all files may take together; none lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.lock().faults.capacity = bytes;
    }

    /// Changes the bits of `mask` of one stored byte, as a decaying disk does.
    ///
    /// # Errors
    /// `NotFound` when there is no such file or byte.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) -> io::Result<()> {
        let mut state = self.lock();
        let inode = state.names.find(path).ok_or(io::ErrorKind::NotFound)?;
        let inode = state
            .inodes
            .get_mut(&inode)
            .ok_or(io::ErrorKind::NotFound)?;
        if offset >= inode.seen.len() {
            return Err(io::ErrorKind::NotFound.into());
        }
        for image in [&mut inode.seen, &mut inode.durable] {
            let mut byte = [0];
            if image.read_at(&mut byte, offset) == 1 {
                image.write_at(&[byte[0] ^ mask], offset);
            }
        }
        Ok(())
    }
}
