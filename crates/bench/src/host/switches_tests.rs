#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn both_kinds_count() {
    let status = "VmRSS:\t  9 kB\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
    assert_eq!(of_task(status), 157);
    assert_eq!(of_task("Name:\tsh\n"), 0);
}

#[test]
fn a_process_that_waits_switches_and_an_absent_one_never() {
    let waits = ["-c", "while :; do sleep 0.01; done"];
    let mut child = std::process::Command::new("sh")
        .args(waits)
        .spawn()
        .expect("sh");
    let pid = child.id();
    let before = switches(&[pid]);
    let grew = (0..1_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        switches(&[pid]) >= before + 20
    });
    let _ = child.kill();
    let _ = child.wait();
    assert!(grew, "{before}");
    assert_eq!(switches(&[u32::MAX]), 0);
}
