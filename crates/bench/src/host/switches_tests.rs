use super::*;

#[test]
fn both_kinds_count() {
    let status = "VmRSS:\t  9 kB\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
    assert_eq!(of_task(status), 157);
    assert_eq!(of_task("Name:\tsh\n"), 0);
}

#[test]
fn every_thread_of_this_process_counts_and_an_absent_one_has_none() {
    let me = std::process::id();
    let before = switches(&[me]);
    let sleeper = std::thread::spawn(move || {
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        switches(&[me])
    });
    let after = sleeper.join().unwrap_or(0);
    assert!(after >= before + 20, "{before} {after}");
    assert_eq!(switches(&[u32::MAX]), 0);
}
