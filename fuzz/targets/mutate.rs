//! A real log that decays: bits flip, files are cut, sectors are zero or another segment's, files
//! are gone. What opens holds only what was written, in order and from where it begins.
#![no_main]

use dunlin_fuzz::{
    input::Input,
    reopen::agree,
    write::{damage, write},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mut written = write(&mut input);
    let changed = damage(&mut written.files, &mut input);
    let held = agree(&written.files);
    if let Some(held) = &held {
        let begins = (held.first - 1) as usize;
        let wanted = written.digests[begins..].iter();
        assert!(held.digests.iter().eq(wanted.take(held.digests.len())));
    }
    if !changed {
        let held = held.expect("an unchanged log is refused");
        assert_eq!(held.digests.len(), written.digests.len());
    }
});
