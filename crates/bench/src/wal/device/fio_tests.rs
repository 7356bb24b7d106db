use super::*;

#[test]
fn reads_the_rate_behind_warnings() {
    let printed = "fio: a note\n{\"jobs\": [{\"write\": {\"iops\": 1234.5}}]}\n";
    assert_eq!(parse(printed), Some(1234.5));
    assert_eq!(parse("no json"), None);
    assert_eq!(parse("{\"jobs\": []}"), None);
}
