#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn memory_is_what_is_there_or_what_the_group_may_have() {
    let meminfo = "MemTotal:       24683940 kB\nMemFree:         1 kB\n";
    assert_eq!(total_bytes(meminfo), Some(24_683_940 << 10));
    assert_eq!(total_bytes("MemFree: 1 kB"), None);
    assert_eq!(total_bytes("MemTotal: much"), None);
}

#[test]
fn every_group_above_may_set_a_limit() {
    let both = "12:cpu,memory:/a\n5:devices:/b\n0::/user.slice/dunlin.service\nnonsense\n";
    assert_eq!(
        limit_files(both),
        [
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/user.slice/dunlin.service/memory.max",
            "/sys/fs/cgroup/user.slice/memory.max",
            "/sys/fs/cgroup/memory.max",
        ]
    );
    assert_eq!(limit_files("0::/"), ["/sys/fs/cgroup/memory.max"]);
}

#[test]
fn the_machine_has_some_of_both() {
    let machine = Machine::take();
    assert!(machine.descriptors >= 20, "{machine:?}");
    assert!(machine.memory_bytes > 1 << 20, "{machine:?}");
    assert_eq!(Machine::take(), machine);
}
