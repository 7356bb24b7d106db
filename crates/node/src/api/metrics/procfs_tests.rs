#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn files_of_linux_are_read() {
    let stat = "4242 (a ) 7 name) S 1 4242 4242 0 -1 4194560 100 0 3 0 150 75 9 9 20 0 12 0 1000 \
                123456 200 18446744073709551615";
    let status = "Name:\tdunlin\nVmPeak:\t  9 kB\nVmSize:\t 2000 kB\nVmRSS:\t  1500 kB\n";
    let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                  Max open files            1024                 524288               files\n";
    let machine = "cpu  1 2 3\nbtime 1700000000\nprocesses 9\n";
    assert_eq!(
        Figures::of(stat, status, limits, machine),
        Figures {
            cpu_s: Some(2.25),
            start_s: Some(1_700_000_010.0),
            resident_bytes: Some(1_536_000),
            virtual_bytes: Some(2_048_000),
            open_fds: None,
            max_fds: Some(1024),
        }
    );
}

#[test]
fn what_is_not_told_is_left_out() {
    let unlimited = "Max open files            unlimited            unlimited            files\n";
    for (stat, status, limits, machine) in
        [("", "", "", ""), ("1 (x", "VmRSS:", unlimited, "btime")]
    {
        assert_eq!(
            Figures::of(stat, status, limits, machine),
            Figures::default()
        );
    }
}

#[test]
fn this_process_has_all_of_them() {
    let now = Figures::now();
    assert!(now.cpu_s.unwrap() >= 0.0);
    assert!(now.start_s.unwrap() > 1_600_000_000.0);
    assert!(now.resident_bytes.unwrap() <= now.virtual_bytes.unwrap());
    assert!((1..=now.max_fds.unwrap()).contains(&now.open_fds.unwrap()));
}
