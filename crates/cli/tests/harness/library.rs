//! Libraries that are loaded before others, compiled from files beside this one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a file beside this one to a library.
pub fn library(directory: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harness");
    let library = directory.join(name).with_extension("so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source.join(name))
        .arg("-ldl");
    assert!(cc.status().unwrap().success(), "cc does not compile {name}");
    library
}

/// Debian's libfaketime, with what it needs before it.
pub fn faketime(directory: &Path) -> OsString {
    let arch = std::env::consts::ARCH;
    let faketime = format!("/usr/lib/{arch}-linux-gnu/faketime/libfaketimeMT.so.1");
    assert!(
        Path::new(&faketime).exists(),
        "no {faketime}: run scripts/setup.sh"
    );
    let mut both = library(directory, "clock.c").into_os_string();
    both.push(":");
    both.push(faketime);
    both
}
