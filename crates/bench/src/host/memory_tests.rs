#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn reads_the_named_field_only() {
    let status = "VmPeak:\t  99 kB\nVmRSS:\t   1234 kB\nVmData:\t 5 kB\n";
    assert_eq!(kib_field(status, "VmRSS:"), Some(1234));
    assert_eq!(kib_field(status, "VmSwap:"), None);
}

#[test]
fn this_process_has_memory_and_an_absent_one_has_none() {
    let me = std::process::id();
    let bytes = resident_bytes(&[me]);
    assert!(bytes > 100_000, "{bytes}");
    assert!(peak_bytes(me) >= Some(bytes / 2));
    assert_eq!(resident_bytes(&[u32::MAX]), 0);
    assert_eq!(peak_bytes(u32::MAX), None);
}
