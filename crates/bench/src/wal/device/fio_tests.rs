use super::*;

#[test]
fn reads_the_rate_behind_warnings() {
    let printed = "fio: a note\n{\"jobs\": [{\"write\": {\"iops\": 1234.5, \"bw_bytes\": 7}}]}\n";
    assert_eq!(write_number(printed, "iops"), Some(1234.5));
    assert_eq!(write_number(printed, "bw_bytes"), Some(7.0));
    assert_eq!(write_number("no json", "iops"), None);
    assert_eq!(write_number("{\"jobs\": []}", "iops"), None);
}
