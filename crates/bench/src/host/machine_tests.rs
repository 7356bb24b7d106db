#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const MOUNTS: &str = "\
rootfs / rootfs rw 0 0
/dev/vda / ext4 rw,relatime 0 0
tmpfs /dev/shm tmpfs rw 0 0
/dev/vdb /data xfs rw 0 0
";

#[test]
fn the_longest_and_latest_mount_wins() {
    let mount = |path: &str| mount_of(MOUNTS, Path::new(path)).unwrap();
    assert_eq!(mount("/tmp/x"), "/dev/vda / ext4");
    assert_eq!(mount("/data/x"), "/dev/vdb /data xfs");
    assert_eq!(mount("/database"), "/dev/vda / ext4");
}

#[test]
fn fields_of_proc_and_os_release() {
    let cpuinfo = "processor\t: 0\nmodel name\t: A CPU: fast\nflags\t\t: fpu hypervisor\n";
    assert_eq!(colon_field(cpuinfo, "model name"), Some("A CPU: fast"));
    assert_eq!(colon_field(cpuinfo, "cache"), None);
    let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n";
    assert_eq!(
        quoted_field(release, "PRETTY_NAME"),
        Some("Debian GNU/Linux 12")
    );
}

#[test]
fn this_machine_is_known() {
    let machine = Machine::describe(&std::env::temp_dir());
    assert!(machine.cores > 0 && machine.memory_bytes > 0);
    assert!(!machine.kernel.is_empty());
    assert_eq!(version(Path::new("/no/such/program"), "x"), None);
}
